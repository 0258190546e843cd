package event

// Type names what happened, exactly as sent in event_type (section 4.1).
type Type string

// The nine event types of section 4.1.
const (
	StreamStarted     Type = "stream.started"
	StreamEnded       Type = "stream.ended"
	StreamDelayed     Type = "stream.delayed"
	Blackout          Type = "alert.blackout"
	BlackoutRecovered Type = "alert.blackout_recovered"
	Silence           Type = "alert.silence"
	SilenceRecovered  Type = "alert.silence_recovered"
	SegmentError      Type = "alert.segment_error"
	MonitorError      Type = "monitor.error"
)

// Types lists every type, in the order of section 4.1.
func Types() []Type {
	return []Type{
		StreamStarted, StreamEnded, StreamDelayed,
		Blackout, BlackoutRecovered, Silence, SilenceRecovered,
		SegmentError, MonitorError,
	}
}
