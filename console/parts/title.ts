import { useEffect } from "react";

/** Name the page in the browser's title. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    document.title = title ? `${title} · Penstock` : "Penstock";
  }, [title]);
}
