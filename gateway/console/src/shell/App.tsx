// Which page the address names: sessions, or the threads.
import { lazy, Suspense } from "react";
import { useKeys } from "../keys/useKeys";
import { sessionsAt } from "../sessions/path";
import { Skeleton } from "../ui/Quiet";
import { Console } from "./Console";
import { Reload } from "./Reload";
import { go, usePath } from "./router";

/** Fetched when it is first opened: the inbox need not wait for what typesets Markdown. */
const SessionsPage = lazy(() =>
  import("../sessions/SessionsPage").then(
    (part) => ({ default: part.SessionsPage }),
    () => ({ default: Reload }),
  ),
);

export function App() {
  const sessions = sessionsAt(usePath());
  useKeys({
    "1": () => {
      if (sessions) go("/");
    },
    "2": () => {
      if (!sessions) go("/sessions");
    },
  });
  if (!sessions) return <Console />;
  return (
    <Suspense fallback={<Skeleton lines={6} />}>
      <SessionsPage id={sessions.id} />
    </Suspense>
  );
}
