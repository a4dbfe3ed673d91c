import type { ReactNode } from "react";

interface ActionButtonProps {
  /** Whether its action is under way. */
  isBusy: boolean;
  /** Whether something must be typed first. */
  disabled?: boolean;
  tone?: "primary" | "danger" | "quiet" | "";
  /** What it does and with what, where its words are the same as those of others. */
  label?: string;
  /** What it does; without it, it submits its form. */
  onClick?: () => void;
  children: ReactNode;
}

/** A button that does nothing while its action is under way: disabled, it would lose the focus. */
export function ActionButton(props: ActionButtonProps) {
  const { isBusy, disabled, tone = "primary", label, onClick, children } = props;
  return (
    <button
      type={onClick ? "button" : "submit"}
      className={`button ${tone}`}
      aria-label={label}
      disabled={disabled}
      aria-disabled={isBusy}
      onClick={(event) => {
        if (isBusy) event.preventDefault();
        else onClick?.();
      }}
    >
      {children}
    </button>
  );
}
