package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// loginOf returns a cookie file with a login of YouTube and a token.
func loginOf(login, token string) cookie.Text {
	const line = ".youtube.com\tTRUE\t/\tTRUE\t4000000000\t%s\t%s\n"
	f, err := cookie.Parse(fmt.Sprintf(line, "LOGIN_INFO", login) + fmt.Sprintf(line, "SAPISID", "s") + fmt.Sprintf(line, "TOKEN", token))
	if err != nil {
		panic(err)
	}
	return f.Text()
}

// TestAQuestionRenewsTheLoginAlsoWhileTheGatewayIsAway lets each question leave another token, and then reject the login.
func TestAQuestionRenewsTheLoginAlsoWhileTheGatewayIsAway(t *testing.T) { // section 17.7
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		stored := cookie.Jar{Name: "members", Version: 1, Text: loginOf("l", "0")}
		g.config.CookieJar, g.cookies = "members", &stored
		var returned []cookie.Use
		away := true
		g.returned = func(u cookie.Use) (cookie.Jar, error) {
			returned = append(returned, u)
			if away {
				return cookie.Jar{}, errors.New("no gateway")
			}
			stored = monitor.YouTube.Site().Renew(stored, u, monitor.CookieHosts(), time.Now())
			return stored, nil
		}
		answers := make(chan func(request.Cookies) watch.Resolution)
		var got []cookie.Jar
		s.resolve = func(ctx context.Context) watch.Resolution {
			lent := request.CookiesOf(ctx)
			got = append(got, lent.Jar())
			return (<-answers)(lent)
		}
		waiting := watch.Resolution{State: watch.Upcoming}
		leaves := func(token string) func(request.Cookies) watch.Resolution {
			return func(lent request.Cookies) watch.Resolution {
				u := cookie.Use{Jar: lent.Jar(), Accepted: true}
				if u.Text = ""; token != "" {
					u.Text = loginOf("l", token)
				}
				if lent.Return(t.Context(), u) {
					t.Errorf("after %q a newer version is known", token)
				}
				return waiting
			}
		}
		wait := startWorkerUntil(t.Context(), context.Background(), ports(s, g), func(*worker.Config) {})
		answers <- leaves("1")
		answers <- leaves("") // the one that was not sent is sent again, unchanged
		synctest.Wait()
		away = false
		stored.Version, stored.Text = 2, loginOf("l", "of another worker")
		answers <- func(lent request.Cookies) watch.Resolution {
			if !lent.Return(t.Context(), cookie.Use{Jar: cookie.Jar{Name: "members", Version: lent.Jar().Version}, Rejected: true}) {
				t.Error("after a rejection the version of another worker is not known")
			}
			return waiting
		}
		answers <- leaves("") // there is nothing to tell, but that it is accepted
		answers <- leaves("")
		answers <- func(request.Cookies) watch.Resolution { return watch.Resolution{State: watch.Private} }
		if err := wait(); err != nil {
			t.Error(err)
		}
		want := []cookie.Jar{
			{Name: "members", Version: 1, Text: loginOf("l", "0")}, {Name: "members", Version: 1, Text: loginOf("l", "1")}, {Name: "members", Version: 1, Text: loginOf("l", "1")},
			{Name: "members", Version: 2, Text: loginOf("l", "of another worker")}, {Name: "members", Version: 2, Text: loginOf("l", "of another worker")}, {Name: "members", Version: 2, Text: loginOf("l", "of another worker")},
		}
		if fmt.Sprintf("%q", texts(got)) != fmt.Sprintf("%q", texts(want)) {
			t.Errorf("the questions got\n%q, want\n%q", texts(got), texts(want))
		}
		if len(returned) != 3 || returned[1].Text != loginOf("l", "1") || !returned[2].Rejected {
			t.Errorf("%d uses were told: %+v", len(returned), returned)
		}
	})
}

// texts makes the versions and texts of jars readable.
func texts(jars []cookie.Jar) (all []string) {
	for _, jar := range jars {
		all = append(all, fmt.Sprint(jar.Version, " ", string(jar.Text)))
	}
	return all
}

func TestAQuestionCarriesTheSecretOfItsStream(t *testing.T) { // decision A1
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		g.secret.Query = "?token=1"
		var carried []string
		state := watch.Upcoming
		s.resolve = func(ctx context.Context) watch.Resolution {
			if q := request.SecretOf(ctx).Query; len(carried) == 0 || carried[len(carried)-1] != q {
				carried = append(carried, q)
			}
			return watch.Resolution{State: state}
		}
		wait := startWorkerUntil(t.Context(), context.Background(), ports(s, g), func(*worker.Config) {})
		time.Sleep(time.Minute)
		g.change(func(*monitor.Config) { g.secret.Query = "?token=2" })
		time.Sleep(time.Minute)
		state = watch.Private
		if err := wait(); err != nil {
			t.Error(err)
		}
		if got := strings.Join(carried, " "); got != "?token=1 ?token=2" {
			t.Errorf("the questions carried %s", got)
		}
	})
}
