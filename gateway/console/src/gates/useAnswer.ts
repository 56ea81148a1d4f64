// One answer to a gate. Sent once a gesture; a gate that somebody else closed says so.
import { useState } from "react";
import { newKey, Problem } from "../api/http";
import { answerGate, type Answer } from "../session/api";

export interface Answering {
  send: (answer: Answer) => void;
  /** Under way, or given: the stream takes the widget away. */
  busy: boolean;
  refused: string | undefined;
}

export function useAnswer(session: string, gate: string): Answering {
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<string>();
  const send = (answer: Answer): void => {
    if (busy) return;
    setBusy(true);
    setRefused(undefined);
    answerGate(session, gate, answer, newKey()).catch((error: unknown) => {
      setBusy(false);
      setRefused(why(error));
    });
  };
  return { send, busy, refused };
}

function why(error: unknown): string {
  if (!(error instanceof Problem)) return "The answer was not taken.";
  if (error.reason !== "GATE_CLOSED") return error.message;
  const by = error.metadata["by"];
  return by ? `It was closed already, by ${by}.` : "It was closed already.";
}
