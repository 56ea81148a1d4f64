// A form in a dialog: its fields, why it was refused, the way back and the button that sends it. Ctrl + Enter sends, too.
import type { ReactNode } from "react";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { Notice } from "./Notice";
import { submitOnCtrlEnter } from "./submit";

interface Props {
  title: string;
  /** Room for writing. */
  wide?: boolean;
  submit: { label: string; look?: "primary" | "danger"; disabled: boolean; focus?: boolean };
  /** The way back. */
  cancel?: string;
  /** What stands left of the buttons. */
  aside?: ReactNode;
  /** See Dialog. */
  unsaved?: boolean;
  refusal?: { title: string; why: ReactNode } | undefined;
  children: ReactNode;
  onSubmit: () => void;
  onClose: () => void;
}

export function FormDialog(props: Props) {
  const {
    title,
    wide = false,
    submit,
    cancel = "Cancel",
    aside,
    unsaved = false,
    refusal,
    children,
    onSubmit,
    onClose,
  } = props;
  return (
    <Dialog title={title} wide={wide} unsaved={unsaved} onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        noValidate
        onKeyDown={submitOnCtrlEnter}
        onSubmit={(event) => {
          event.preventDefault();
          if (!submit.disabled) onSubmit();
        }}
      >
        {children}
        {refusal ? (
          <Notice tone="warn" title={refusal.title}>
            {refusal.why}
          </Notice>
        ) : null}
        <div className="flex flex-wrap items-center justify-end gap-2">
          {aside ? <div className="mr-auto">{aside}</div> : null}
          <Button look="bare" onClick={onClose}>
            {cancel}
          </Button>
          <Button
            look={submit.look ?? "primary"}
            type="submit"
            disabled={submit.disabled}
            {...(submit.focus ? { "data-autofocus": true } : {})}
          >
            {submit.label}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
