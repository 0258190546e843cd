// Package monitors answers callers: they register, change, stop and read monitors, and read
// their events. Package intake answers workers.
//
//	caller ──▶ RateLimiter ────────────────────▶ RateLimitStore    ─┐
//	           Registrar ──────────────────────▶ RegistrationStore ─┤
//	           Previewer ──────────────────────▶ AdmissionReader   ─┤
//	           Editor (changes and stops) ─────▶ SettingsStore     ─┤ one Store
//	           MonitorReader ──────────────────▶ MonitorStore      ─┤
//	           EventService ───────────────────▶ EventStore        ─┘
//	           Registrar, Editor ──────────────▶ WorkerManager  (starts and stops workers)
//	           Registrar, Previewer, Editor ───▶ CallbackPolicy (where webhooks may go)
//	           WebhookTester ──────────────────▶ CallbackPolicy, TestSender
//
// Guarantees:
//
//   - Registrar stores a monitor, then enqueues the start of its worker, and returns
//     without waiting for the worker. A reservation gets no worker yet (decision A10);
//     package supervisor promotes it.
//   - All requests with the same idempotency key register one monitor (decision A9).
//     All gateways share the rate limits of a client (A5).
//   - If a caller disconnects during a registration, the store contains either nothing
//     or a monitor that gets a worker. The caller's context does not cancel changes.
//   - Editor.Stop is idempotent (decision A6), and so is Editor.ChangeMonitor. Changes at
//     the same time are applied one after another (section 16.6).
//
// Errors that callers may see are *monitor.Error. Every other error is internal and names
// the failed operation. The package keeps no state in memory, so any number of gateways may run side by side.
package monitors
