package main

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestEveryChannelOfMessagesHasASender(t *testing.T) {
	senders := messageSenders(nil, time.Now)
	for _, c := range notify.Channels() {
		if !c.GetsEvents && senders[c.Kind] == nil {
			t.Errorf("messageSenders has no sender of %s", c.Kind)
		}
	}
}
