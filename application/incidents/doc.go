// Package incidents lists incidents, does what operators ask for, and lets time change them
// (section 16.1).
//
//	report ──▶ domain/incident ──▶ incident ──▶ feed ──▶ readers
//	operator ──▶ acknowledge, resolve, note, label ──▶ its log
//
// Incidents are stored in the transactions of the reports that they follow from.
package incidents
