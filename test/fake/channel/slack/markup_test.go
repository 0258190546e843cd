package slack_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/slack"
)

// Tokens of links have underscores.
func TestAnAddressKeepsItsUnderscores(t *testing.T) {
	const url = "https://monitor.example/act/eyJh._token-_with_-underscores"
	var m channel.Message
	slack.Markup(&m, "_see_ <"+url+"|*here*> or <@U1>")
	if len(m.Links) != 1 || m.Links[0].URL != url || m.Links[0].Text != "here" || m.Text != "see here or @@U1" || m.Mentions != 1 {
		t.Errorf("got %+v", m)
	}
}
