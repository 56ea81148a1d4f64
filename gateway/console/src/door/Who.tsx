// Who is logged in, and the way out. Nothing where nobody needs to log in.
import { tell } from "../api/signals";
import { visible } from "../text/visible";
import { LOOKS } from "../ui/Button";
import { Menu } from "../ui/Menu";
import { logOut, useVisitor } from "./api";

export function Who() {
  const visitor = useVisitor().data;
  if (!visitor || visitor.open) return null;
  const subject = visible(visitor.subject);
  return (
    <Menu
      label={`${subject}: logged in`}
      className={`inline-flex min-h-8 min-w-0 max-w-40 items-center rounded-md px-2 text-sm max-lg:min-h-10 ${LOOKS.bare}`}
      choices={[
        {
          id: "out",
          label: "Log out",
          detail: visitor.roles.length > 0 ? `Here as ${visitor.roles.join(", ")}` : undefined,
          onPick: () => {
            void logOut().finally(() => {
              tell("unknown");
            });
          },
        },
      ]}
    >
      <span className="truncate">{subject}</span>
    </Menu>
  );
}
