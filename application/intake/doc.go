// Package intake answers workers: a worker fetches its assignment and reports.
//
//	worker ──▶ WorkerService ──▶ LeaseRenewer (the worker is alive)
//	                         ├─▶ ReportStore  (one transaction for the whole report)
//	                         └─▶ CookieJars   (lent with the assignment, returned by each question)
//
// Guarantees:
//
//   - When WorkerService.Report returns, the whole report is stored. A report of an older
//     generation changes nothing (decision O2).
//   - If a worker disconnects during a report, the report is stored completely or not at all.
//   - A wrong signal or minute is left out and logged; it never costs the report its alerts.
//
// Errors that workers may see are *monitor.Error and monitor.ErrSuperseded. Every other
// error is internal and names the failed operation. The package keeps no state in memory, so
// any number of gateways may run side by side.
package intake
