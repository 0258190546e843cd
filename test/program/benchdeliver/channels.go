package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/notifier"
	ntfysender "github.com/stream-monitor/stream-monitor/adapters/notifier/ntfy"
	slacksender "github.com/stream-monitor/stream-monitor/adapters/notifier/slack"
	telegramsender "github.com/stream-monitor/stream-monitor/adapters/notifier/telegram"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/ntfy"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/slack"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/telegram"
)

// loopback is the network of all receivers.
var loopback = netip.MustParsePrefix("127.0.0.0/8")

// messageSenders returns the senders to the channels.
func messageSenders() map[notify.Kind]message.Sender {
	client := notifier.NewClient(notifier.Config{AllowedNetworks: []netip.Prefix{loopback}})
	return map[notify.Kind]message.Sender{
		notify.Slack: slacksender.New(client), notify.Telegram: telegramsender.New(client), notify.Ntfy: ntfysender.New(client),
	}
}

// fakeChannel is a destination that people read, with the fake behind it.
type fakeChannel struct {
	server      *channel.Server
	destination notify.Destination
}

// startChannels starts n fakes of each channel with rate limits.
func startChannels(n int) (all []fakeChannel) {
	for range n {
		s, t, n := slack.New(), telegram.New(), ntfy.New()
		all = append(all, fakeChannel{s.Server, notify.Destination{
			Kind: notify.Slack, Config: map[string]string{"channel": slack.Channel, "api_url": s.APIURL()}, Secrets: map[string]string{"bot_token": slack.Token},
		}}, fakeChannel{t.Server, notify.Destination{
			Kind: notify.Telegram, Config: map[string]string{"chat_id": telegram.ChatID, "api_url": t.URL}, Secrets: map[string]string{"bot_token": telegram.Token},
		}}, fakeChannel{n.Server, notify.Destination{
			Kind: notify.Ntfy, Config: map[string]string{"server_url": n.URL, "topic": ntfy.Topic}, Secrets: map[string]string{"token": ntfy.Token},
		}})
	}
	return all
}

func closeChannels(all []fakeChannel) {
	for _, c := range all {
		c.server.Close()
	}
}

// awaitMessages waits until each channel has n messages. Each must have them in the time that its
// rate limit allows: after its burst, one message in each interval.
func awaitMessages(ctx context.Context, all []fakeChannel, began time.Time, n int) error {
	var errs []error
	for _, c := range all {
		known, _ := notify.ChannelOf(c.destination.Kind)
		limit := known.RateLimit
		least := time.Duration(n-limit.Burst) * limit.Interval
		for len(c.server.Messages()) < n && time.Since(began) < least+maxDelay && wait.For(ctx, 100*time.Millisecond) {
		}
		got := c.server.Messages()
		if len(got) != n {
			errs = append(errs, fmt.Errorf("%s has %d messages after %s, want %d", known.Kind, len(got), least+maxDelay, n))
			continue
		}
		took := got[n-1].PostedAt.Sub(began)
		fmt.Printf("  %s, one message in %s after a burst of %d: %d after %.1f s, at least %.1f s\n",
			known.Kind, limit.Interval, limit.Burst, n, took.Seconds(), least.Seconds())
		if took < least-limit.Interval {
			errs = append(errs, fmt.Errorf("%s has its messages after %s, its rate limit allows %s", known.Kind, took, least))
		}
	}
	return errors.Join(errs...)
}
