import { text } from "../i18n";
import type { Condition, Monitor } from "../types";
import { stillWorking } from "../why";
import { ErrorText } from "./Name";

const blinding = ["blind", "no_media", "error"];

// LatestFinding says what else is known of the stream by now: the newest error where nothing is seen, else what still works.
export function LatestFinding({ condition, monitor }: { condition: Condition; monitor: Monitor }) {
  if (!monitor.last_error || !blinding.includes(condition.name)) return <>{stillWorking(condition, monitor)}</>;
  return (
    <>
      {text.value.why.lastError}
      <ErrorText>{monitor.last_error}</ErrorText>
    </>
  );
}
