// Asks for the token that a person was given. The gateway keeps it in a cookie; it is not kept here.
import { useEffect, useState } from "react";
import { Button } from "../ui/Button";
import { Labelled } from "../ui/Labelled";
import { Notice } from "../ui/Notice";
import { logIn, refusedAtDoor } from "./api";

export function LogIn({ onIn }: { onIn: () => void }) {
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const ready = token.trim() !== "" && !busy;
  useEffect(() => {
    document.title = "Log in · Treadle";
  }, []);
  const submit = async (): Promise<void> => {
    if (!ready) return;
    setBusy(true);
    setError(undefined);
    try {
      await logIn(token.trim());
      onIn();
    } catch (problem) {
      setError(problem as Error);
      setBusy(false);
    }
  };
  return (
    <main className="mx-auto flex min-h-dvh max-w-md flex-col justify-center gap-6 p-6">
      <h1 className="flex items-center gap-3 font-serif text-title font-medium">
        <img src="/treadle.svg" alt="" width="28" height="28" />
        Treadle
      </h1>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <Labelled
          label="Token"
          hint="Whoever runs this Treadle gives it to you. It stays in a cookie that no page can read."
        >
          <input
            className="field font-mono"
            type="password"
            value={token}
            autoFocus
            autoComplete="current-password"
            spellCheck={false}
            onChange={(event) => {
              setToken(event.target.value);
            }}
          />
        </Labelled>
        {error ? (
          <Notice tone="warn" title="You are not logged in">
            {refusedAtDoor(error)}
          </Notice>
        ) : null}
        <Button look="primary" type="submit" disabled={!ready} className="self-start">
          {busy ? "Looking…" : "Log in"}
        </Button>
      </form>
    </main>
  );
}
