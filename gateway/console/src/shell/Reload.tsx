// Stands where a part of the console is gone from the server: it was updated under an open page.
import { Button } from "../ui/Button";
import { Empty } from "../ui/Quiet";

export function Reload() {
  return (
    <div className="flex flex-col items-center">
      <Empty title="This page is of an older Treadle">It was updated, or does not answer just now.</Empty>
      <Button
        onClick={() => {
          location.reload();
        }}
      >
        Load it anew
      </Button>
    </div>
  );
}
