// Words that threads of any level must hold. The address keeps them; the list follows while one types.
import { useEffect, useState } from "react";
import { navigate, type Route } from "../shell/router";

const PAUSE_MS = 200;

export function Search({ route }: { route: Route }) {
  const [draft, setDraft] = useState<string>();
  useEffect(() => {
    if (draft === undefined) return undefined;
    const timer = setTimeout(() => {
      navigate({ ...route, view: "all", words: draft }, { replace: route.words !== "" });
      setDraft(undefined);
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [draft, route]);
  return (
    <div className="px-4 py-2">
      <input
        type="search"
        aria-label="Search all threads"
        data-search
        className="h-8 w-full rounded-md border border-line bg-raised px-3 text-sm placeholder:text-faint focus-visible:outline-offset-0 max-lg:h-10 max-lg:text-lg"
        placeholder="Search all threads"
        aria-keyshortcuts="/"
        autoComplete="off"
        maxLength={200}
        value={draft ?? route.words}
        onChange={(event) => {
          setDraft(event.target.value);
        }}
      />
    </div>
  );
}
