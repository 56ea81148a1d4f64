// Ties the feed to the queries: events invalidate what they touched, `reset` and a fresh connection invalidate all.
import { useQueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useState, type ReactNode } from "react";
import { heard } from "../api/signals";
import { visitorKey } from "../door/api";
import { Batch } from "./batch";
import { openFeed, type FeedStatus } from "./feed";
import { keepPlace, lastPlace } from "./place";
import { invalidate } from "./stale";
import { touchedPlans } from "../plan/touched";
import { touchedSessions } from "../sessions/touched";
import { touchedWorkers } from "../workers/touched";
import { touched } from "./touched";

const AWAY_MS = 60_000;

const Status = createContext<FeedStatus>("connecting");

export function useFeedStatus(): FeedStatus {
  return useContext(Status);
}

export function Live({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [status, setStatus] = useState<FeedStatus>("connecting");
  useEffect(() => {
    let place = "";
    const batch = new Batch((stale) => {
      if (place !== "") keepPlace(place);
      invalidate(client, stale);
    });
    const feed = openFeed("/api/stream", lastPlace(), {
      onStatus: setStatus,
      onFresh: () => {
        batch.catchUp();
        batch.add("all");
      },
      onRefused: () => {
        // Perhaps the gateway does not know any more who this is.
        void client.invalidateQueries({ queryKey: visitorKey });
      },
      onEvent: (name, data, cursor) => {
        place = cursor;
        switch (name) {
          case "thread":
            batch.add(touched(data));
            break;
          case "session":
            batch.add(touchedSessions(data));
            break;
          case "worker":
            batch.add(touchedWorkers(data));
            break;
          case "plan":
            batch.add(touchedPlans(data));
            break;
          case "reset":
            batch.add("all");
            break;
        }
      },
    });
    const deaf = heard("unanswered", feed.doubt);
    // A machine that slept, or a snooze that ended meanwhile, sends no event: coming back after a while reads anew.
    let hiddenAt = Infinity;
    const onVisibility = (): void => {
      if (document.hidden) hiddenAt = Date.now();
      else if (Date.now() - hiddenAt > AWAY_MS) batch.add("all");
    };
    document.addEventListener("visibilitychange", onVisibility);
    return () => {
      document.removeEventListener("visibilitychange", onVisibility);
      feed.close();
      deaf();
      batch.close();
    };
  }, [client]);
  return <Status value={status}>{children}</Status>;
}
