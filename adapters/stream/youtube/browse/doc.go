// Package browse asks YouTube for the streams of a channel, with the request that its own
// pages send. That costs one exchange of some hundred KB, and no process.
//
//	@handle, c/NAME, user/NAME ─▶ POST /youtubei/v1/navigation/resolve_url ─▶ UC… ─┐
//	UC… ───────────────────────────────────────────────────────────────────────────┴▶ POST /youtubei/v1/browse, the tab of streams
//	   ├─ 200, the tab whose URL ends in /streams ▶ its entries, and up to 4 pages that follow
//	   ├─ 200, another tab, no such tab listed ──▶ NoStreams
//	   ├─ 404, or "does not exist" ──────────────▶ NotFound
//	   ├─ 401, 403, a page of consent or a test ─▶ Refused; 429 RateLimited; 5xx Network
//	   └─ anything else ─────────────────────────▶ Unreadable
//
// Entries have two forms, lockupViewModel and the older videoRenderer. An entry in any other form
// makes the Listing Partial, and nothing is made up for it. The tab lists streams to come first, then
// those that are live, then those that ended, the latest first. So pages are followed until one ends
// with a stream that ended, and only without that the Listing is Partial.
//
// YouTube publishes neither the request nor its answer, and changes both. A caller therefore has
// another Lister beside this one.
package browse
