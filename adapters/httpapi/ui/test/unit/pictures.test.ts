import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { evidenceURL, linksKept } from "../../src/pictures";

test("a link to evidence is signed once in an hour, and a thousand are kept at most", async () => {
  let signed = 0;
  globalThis.location = new URL("http://gateway/") as unknown as Location;
  globalThis.fetch = (async () => new Response(JSON.stringify({ url: `/evidence/picture?signature=${++signed}` }), { status: 200 })) as typeof fetch;
  mock.timers.enable({ apis: ["Date"] });
  const first = evidenceURL("first", "onset");
  assert.equal(evidenceURL("first", "onset"), first);
  for (let n = 0; n < 100; n++) {
    mock.timers.tick(10 * 60_000);
    evidenceURL(`evidence-${n}`, "onset");
  }
  assert.ok(linksKept() <= 6, `${linksKept()} links are kept`);
  assert.notEqual(evidenceURL("first", "onset"), first);
  for (let n = 0; n < 2000; n++) evidenceURL(`of the same minute ${n}`, "onset");
  assert.equal(linksKept(), 1000);
  mock.timers.reset();
});
