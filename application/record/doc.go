// Package record keeps what happened to the streams, for those who look later:
// incidents, evidence, history and the feed of changes.
//
//	report ──▶ domain/incident ──▶ incident ──▶ feed ──▶ readers
//	worker ──▶ pictures, levels, clips ──▶ evidence ──▶ signed links
//	report ──▶ spans and minutes ──▶ timeline, statistics
//
// The record is stored in the transactions of the reports that it follows from. An
// alert never waits for it: a part of the record that fails is logged, and the alert
// is sent.
//
// Each part declares its own ports and can be used without the others.
package record
