// The two answers of a review: continue as proposed, or say what is wanted instead.
import { useState } from "react";
import { Button } from "../ui/Button";
import { Other } from "./Other";
import type { Answering } from "./useAnswer";

export function Reviewed({ answering, otherLabel }: { answering: Answering; otherLabel: string }) {
  const [other, setOther] = useState(false);
  if (other) {
    return (
      <Other
        answering={answering}
        label={otherLabel}
        onCancel={() => {
          setOther(false);
        }}
      />
    );
  }
  return (
    <div className="flex flex-wrap gap-2">
      <Button
        look="primary"
        disabled={answering.busy}
        onClick={() => {
          answering.send({ value: "continue" });
        }}
      >
        Continue
      </Button>
      <Button
        disabled={answering.busy}
        onClick={() => {
          setOther(true);
        }}
      >
        Other — specify
      </Button>
    </div>
  );
}
