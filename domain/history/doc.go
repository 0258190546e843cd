// Package history keeps how a stream went over time (section 16.3): spans of the
// state of each lane, and luma and sound level per minute.
//
//	measures of segments ─▶ Minutes ─▶ report ─┐
//	                                           ├─▶ Bucket ─▶ timeline
//	accepted reports ─▶ Observe ─▶ spans ──────┤
//	                                           └─▶ Statistics ─▶ hours, days, sessions
//
// A lane always has one state. Time in which no report was accepted is unknown,
// never good. Everything is a pure function of its arguments: the worker collects
// minutes, the gateway derives spans in the transaction of the report, and readers
// summarise both.
package history
