// A modal on the platform's <dialog>: focus trap, Escape and inertness of the rest come with it. Words that would be lost
// are not thrown away by a slip: a press beside it does nothing then, and Escape asks first.
import { useEffect, useId, useRef, useState, type ReactNode } from "react";
import { Button } from "./Button";
import { Notice } from "./Notice";

interface Props {
  title: string;
  /** Room for reading. */
  wide?: boolean;
  /** Something was written that is not kept anywhere. */
  unsaved?: boolean;
  onClose: () => void;
  children: ReactNode;
}

export function Dialog({ title, wide = false, unsaved = false, onClose, children }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const [asked, setAsked] = useState(false);
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    dialog?.querySelector<HTMLElement>("[data-autofocus]")?.focus();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        if (unsaved) setAsked(!asked);
        else onClose();
      }}
      onPointerDown={(event) => {
        if (event.target === ref.current && !unsaved) onClose();
      }}
      className={`m-auto ${wide ? "w-[min(52rem,calc(100vw-1rem))]" : "w-[min(34rem,calc(100vw-2rem))]"} rounded-xl border border-line bg-paper p-0 text-ink shadow-2xl`}
    >
      <div className="flex flex-col gap-4 p-5">
        <h2 id={heading} className="font-serif text-xl font-medium">
          {title}
        </h2>
        {children}
        {asked && unsaved ? (
          <Notice
            tone="wait"
            title="What you wrote is not kept"
            actions={
              <>
                <Button
                  autoFocus
                  onClick={() => {
                    setAsked(false);
                  }}
                >
                  Go on writing
                </Button>
                <Button look="danger" onClick={onClose}>
                  Throw it away
                </Button>
              </>
            }
          />
        ) : null}
      </div>
    </dialog>
  );
}
