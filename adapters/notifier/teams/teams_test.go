package teams_test

import (
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/notifier/notifiertest"
	"github.com/stream-monitor/stream-monitor/adapters/notifier/teams"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	fake "github.com/stream-monitor/stream-monitor/test/fake/channel/teams"
)

func TestConformance(t *testing.T) {
	notifiertest.Run(t, func(*testing.T) notifiertest.Harness {
		s := fake.New()
		return notifiertest.Harness{
			New: notifiertest.New(teams.New), Server: s, Picture: notifiertest.ByURL, Reads: 2500,
			Destination: notify.Destination{Kind: notify.Teams, Secrets: map[string]string{"workflow_url": s.WorkflowURL()}},
			WrongCredentials: func(d *notify.Destination) {
				d.Secrets["workflow_url"] = strings.Replace(s.WorkflowURL(), "geheim", "geheim-wrong", 1)
			},
		}
	})
}
