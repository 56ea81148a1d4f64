// A session's stream while its page is open: one EventSource, closed when the page, the session or the key changes.
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useReducer, useState } from "react";
import { sessionKeys, sessionPath } from "./api";
import type { StreamEvent } from "./events";
import { NOTHING, project } from "./projection";
import { openStream, type StreamStatus } from "./stream";

export function useStream(id: string, streamKey: number, gone: boolean) {
  const client = useQueryClient();
  const [projection, dispatch] = useReducer(project, NOTHING);
  const [status, setStatus] = useState<StreamStatus>("connecting");
  const ended = gone || projection.deleted;
  useEffect(() => {
    if (ended) return undefined;
    const reread = (...keys: (readonly string[])[]): void => {
      for (const queryKey of keys) void client.invalidateQueries({ queryKey });
    };
    return openStream(`${sessionPath(id)}/stream`, {
      onStatus: setStatus,
      onEvents: (events) => {
        dispatch({ type: "events", events });
        if (events.some(settles)) reread(sessionKeys.messages(id), sessionKeys.one(id));
        if (events.some(({ name }) => name === "reset")) {
          reread(sessionKeys.messages(id), sessionKeys.gates(id), sessionKeys.one(id));
        }
      },
      onRefused: () => {
        reread(sessionKeys.one(id));
      },
    });
  }, [client, id, streamKey, ended]);
  return { projection, dispatch, status };
}

function settles(event: StreamEvent): boolean {
  return event.name === "turn" && (event.state === "idle" || event.state === "failed");
}
