import { useEffect } from "react";

const SCROLLED = ".card.flush, .scroller, .places";
const PLACES = ".places";
/** A part of a pixel is nothing to scroll to. */
const ALMOST = 2;

/**
 * Marks what can be scrolled sideways with the sides at which there is more, `before` and `behind`, and the
 * places that these sides would cut through.
 */
export function useScrollSigns(): void {
  useEffect(() => {
    let frame = 0;
    const mark = () => {
      frame = 0;
      for (const one of document.querySelectorAll<HTMLElement>(SCROLLED)) {
        const sides = sidesOf(one);
        if ((one.dataset["more"] ?? "") === sides) continue;
        if (sides) one.dataset["more"] = sides;
        else delete one.dataset["more"];
      }
      for (const one of document.querySelectorAll<HTMLElement>(PLACES)) {
        for (const place of one.children) place.toggleAttribute("data-cut", isCut(place, one));
      }
    };
    const markSoon = () => {
      frame ||= requestAnimationFrame(mark);
    };
    const observer = new MutationObserver(markSoon);
    observer.observe(document.body, { childList: true, subtree: true, characterData: true });
    document.addEventListener("scroll", markSoon, { capture: true, passive: true });
    document.addEventListener("toggle", markSoon, { capture: true });
    window.addEventListener("resize", markSoon);
    markSoon();
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      document.removeEventListener("scroll", markSoon, { capture: true });
      document.removeEventListener("toggle", markSoon, { capture: true });
      window.removeEventListener("resize", markSoon);
    };
  }, []);
}

/** Whether a part of something is out of sight at a side: it is shown as a whole, or not at all. */
function isCut(one: Element, around: Element): boolean {
  const [inner, outer] = [one.getBoundingClientRect(), around.getBoundingClientRect()];
  return inner.left < outer.left - ALMOST || inner.right > outer.right + ALMOST;
}

function sidesOf({ scrollLeft, scrollWidth, clientWidth }: HTMLElement): string {
  const at = Math.abs(scrollLeft);
  const rest = scrollWidth - clientWidth - at;
  return [...(at > ALMOST ? ["before"] : []), ...(rest > ALMOST ? ["behind"] : [])].join(" ");
}
