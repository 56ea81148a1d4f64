// Ties the feed to the queries: events invalidate what they touched, `reset` and a fresh connection invalidate all.
import { useQueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useState, type ReactNode } from "react";
import { Batch } from "./batch";
import { openFeed, type FeedStatus } from "./feed";
import { touched } from "./touched";

const Status = createContext<FeedStatus>("connecting");

export function useFeedStatus(): FeedStatus {
  return useContext(Status);
}

export function Live({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [status, setStatus] = useState<FeedStatus>("connecting");
  useEffect(() => {
    const batch = new Batch((stale) => {
      if (stale === "all") void client.invalidateQueries();
      else for (const queryKey of stale) void client.invalidateQueries({ queryKey });
    });
    const close = openFeed("/api/stream", {
      onStatus: setStatus,
      onFresh: () => {
        batch.add("all");
      },
      onEvent: (name, data) => {
        switch (name) {
          case "thread":
            batch.add(touched(data));
            break;
          case "reset":
            batch.add("all");
            break;
        }
      },
    });
    return () => {
      close();
      batch.close();
    };
  }, [client]);
  return <Status value={status}>{children}</Status>;
}
