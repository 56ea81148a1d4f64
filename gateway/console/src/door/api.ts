// Who is here, by the gateway's cookie (`/auth/session`): it is set and taken away there, no script sees the token.
import { useQuery } from "@tanstack/react-query";
import { Problem, request } from "../api/http";

export interface Visitor {
  /** No secret is configured: nobody needs to log in. */
  open: boolean;
  subject: string;
  roles: string[];
  expire_time?: string;
}

const PATH = "/auth/session";

export const visitorKey = ["visitor"] as const;

/** Null where the gateway does not tell. */
export function useVisitor() {
  return useQuery({
    queryKey: visitorKey,
    queryFn: ({ signal }) => request<Visitor>(PATH, { signal }).catch(() => null),
  });
}

export function logIn(token: string): Promise<Visitor> {
  return request(PATH, { method: "POST", body: { token }, stranger: true });
}

export function logOut(): Promise<unknown> {
  return request(PATH, { method: "DELETE" });
}

/** Why the door stays shut, in a sentence. */
export function refusedAtDoor(error: Error): string {
  if (!(error instanceof Problem)) return error.message;
  if (error.reason.endsWith("PERSON_REQUIRED"))
    return "This token is an agent's or a service's, not a person's.";
  if (error.status === 401) return "This token is not known here, or its time is up.";
  if (error.status === 400) return "That is not a token.";
  return error.message;
}
