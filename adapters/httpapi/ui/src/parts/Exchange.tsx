import "../styles/exchange.css";
import { text } from "../i18n";
import { number } from "../time";
import type { DeliveryAttempt } from "../types";
import { Glyph } from "./Glyph";
import { ErrorText } from "./Name";

type Outcome = Pick<DeliveryAttempt, "status" | "error" | "request" | "response">;

// isSuccess: only 2xx counts. A redirect is not followed.
const isSuccess = (a: Outcome) => a.error === null && a.status !== null && a.status >= 200 && a.status < 300;

// StatusWord says how an attempt ended.
export function StatusWord({ of }: { of: Outcome }) {
  const good = isSuccess(of);
  const words = text.value.deliveries;
  return (
    <span class={`word ${good ? "is-on_air" : "is-trouble"} wrap`}>
      <Glyph name={good ? "check" : "fail"} />
      {of.status ?? words.noStatus}
      {of.request && <span class="dim num">{words.in(number.value.format(of.request.duration_ms))}</span>}
    </span>
  );
}

// Exchange shows what was sent and what was answered. Both are texts of strangers: they stay text.
export function Exchange({ of, body }: { of: Outcome; body?: string }) {
  const words = text.value.deliveries;
  if (!of.request) return <p class="dim">{of.status === null && of.error ? of.error : words.notKept}</p>;
  const headers = Object.entries(of.request.headers).sort(([a], [b]) => a.localeCompare(b));
  return (
    <div class="exchange">
      <div>
        <h4>{words.request}</h4>
        <pre class="code" tabIndex={0} aria-label={words.request}>
          <b>POST {of.request.url}</b>
          {"\n"}
          {headers.map(([name, value]) => (
            <>
              <span class="dim">{name}:</span> {value}
              {"\n"}
            </>
          ))}
          {of.request.message && `\n${of.request.message}`}
          {body !== undefined && `\n${pretty(body)}`}
        </pre>
      </div>
      <div>
        <h4>{words.response}</h4>
        {of.error && (
          <p class="exchange-error">
            <ErrorText>{of.error}</ErrorText>
          </p>
        )}
        {of.response ? (
          <pre class="code" tabIndex={0} aria-label={words.response}>
            <b>{of.status}</b>
            {"\n"}
            {of.response.content_type && (
              <>
                <span class="dim">Content-Type:</span> {of.response.content_type}
                {"\n"}
              </>
            )}
            {"\n"}
            {of.response.body || <span class="dim">{words.emptyBody}</span>}
            {of.response.truncated && <span class="dim">{`\n… ${words.truncated}`}</span>}
          </pre>
        ) : (
          <p class="dim">{words.noResponse}</p>
        )}
      </div>
    </div>
  );
}

// pretty indents JSON. What is no JSON stays as it is.
export function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
