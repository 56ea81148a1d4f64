// A modal on the platform's <dialog>: focus trap, Escape and inertness of the rest come with it.
import { useEffect, useId, useRef, type ReactNode } from "react";

interface Props {
  title: string;
  /** Room for reading. */
  wide?: boolean;
  onClose: () => void;
  children: ReactNode;
}

export function Dialog({ title, wide = false, onClose, children }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
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
        onClose();
      }}
      onPointerDown={(event) => {
        if (event.target === ref.current) onClose();
      }}
      className={`m-auto ${wide ? "w-[min(52rem,calc(100vw-1rem))]" : "w-[min(34rem,calc(100vw-2rem))]"} rounded-xl border border-line bg-paper p-0 text-ink shadow-2xl`}
    >
      <div className="flex flex-col gap-4 p-5">
        <h2 id={heading} className="font-serif text-xl font-medium">
          {title}
        </h2>
        {children}
      </div>
    </dialog>
  );
}
