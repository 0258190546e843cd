package event

import (
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Type names what happened, exactly as sent in event_type (section 4.1).
type Type string

// The event types of section 4.1, without those of optional detectors. Those of all detectors are in
// the table of detectors.
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
	list := []Type{StreamStarted, StreamEnded, StreamDelayed}
	for _, d := range detector.Table {
		list = append(list, Type(d.Alert), Type(d.Recovered))
	}
	return append(list, SegmentError, MonitorError)
}

// alerts and recoveries list the types of all detectors.
func alerts() (list []Type) {
	for _, d := range detector.Table {
		list = append(list, Type(d.Alert))
	}
	return list
}

func recoveries() (list []Type) {
	for _, d := range detector.Table {
		list = append(list, Type(d.Recovered))
	}
	return list
}

// The events of channels. No callback gets them, and they are in a table of their own.
const (
	StreamFound       Type = "channel.stream_found"
	ChannelUnreadable Type = "channel.unreadable"
	ChannelReadable   Type = "channel.readable"
)

// ChannelTypes lists the types of the events of channels.
func ChannelTypes() []Type { return []Type{StreamFound, ChannelUnreadable, ChannelReadable} }

// OfChannel reports whether events of the type belong to a channel, and to no monitor.
func (t Type) OfChannel() bool { return slices.Contains(ChannelTypes(), t) }
