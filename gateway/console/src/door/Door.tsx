// Stands before the whole console: who is not known to the gateway is asked for a token, then all is read anew.
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import { heard } from "../api/signals";
import { LogIn } from "./LogIn";

export function Door({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [shut, setShut] = useState(false);
  useEffect(
    () =>
      heard("unknown", () => {
        setShut(true);
      }),
    [],
  );
  if (!shut) return children;
  return (
    <LogIn
      onIn={() => {
        client.clear();
        setShut(false);
      }}
    />
  );
}
