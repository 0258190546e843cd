package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/cookiejars"
	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/login"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func cookieJar(n int) cookiejars.Record {
	return cookiejars.Record{
		ID: fmt.Sprintf("0190a5d9-1c2b-7d8a-9c1d-%012d", n), Name: fmt.Sprintf("members %d", n), Sources: []monitor.SourceName{monitor.YouTube},
		Cookies: 3, SignedIn: true, Version: 1, CreatedAt: noon.UTC(), UploadedAt: noon.UTC(),
	}
}

func TestACookieJarIsStoredEncryptedAndRenewed(t *testing.T) { // section 17.7
	t.Parallel()
	dsn := database(t)
	s, db := openWithKey(t, dsn, reversing{first: "one"}), raw(t, dsn)
	jar, other := cookieJar(1), cookieJar(2)
	check(t, s.CreateCookieJar(t.Context(), other, "other"))
	for range 2 { // which may be repeated
		check(t, s.CreateCookieJar(t.Context(), jar, "first"))
	}
	expect(t, "the list", must(s.CookieJars(t.Context()))(t), []cookiejars.Record{jar, other})
	expect(t, "the content", must(s.CookieJar(t.Context(), jar.Name))(t), cookie.Jar{Name: jar.Name, Version: 1, Text: "first"})
	twin := cookieJar(3)
	twin.Name = jar.Name
	requireCode(t, s.CreateCookieJar(t.Context(), twin, "x"), monitor.NameTaken)

	later := noon.Add(time.Hour).UTC()
	renewed := must(s.UseCookieJar(t.Context(), jar.Name, func(j *cookie.Jar, r *cookiejars.Record) {
		j.Version, j.Text, r.AcceptedAt = j.Version+1, "second", later
	}))(t)
	expect(t, "the renewed jar", renewed, cookie.Jar{Name: jar.Name, Version: 2, Text: "second"})
	expect(t, "what is read", must(s.CookieJar(t.Context(), jar.Name))(t), renewed)
	must(s.UseCookieJar(t.Context(), jar.Name, func(_ *cookie.Jar, r *cookiejars.Record) { r.RejectedAt = later }))(t)
	listed := must(s.CookieJars(t.Context()))(t)[0]
	expect(t, "the state", listed.State(), login.Rejected)
	if !listed.AcceptedAt.Equal(later) || !listed.RejectedAt.Equal(later) || listed.Version != 2 {
		t.Errorf("listed is %+v", listed)
	}

	// Its monitors get a new revision with an upload, and keep it from being deleted.
	using, without := register(t, s, 1), register(t, s, 2)
	using.Config.CookieJar = jar.Name
	must(s.UpdateSettings(t.Context(), using, time.Time{}))(t)
	jar.UploadedAt = later
	replaced := must(s.ReplaceCookieJar(t.Context(), jar, "third"))(t)
	expect(t, "the state after an upload", string(replaced.State())+fmt.Sprint(replaced.Version, replaced.Monitors), "unused3 1")
	expect(t, "the revisions", fmt.Sprint(getMonitor(t, s, using.ID).Revision, getMonitor(t, s, without.ID).Revision), "2 0")
	requireCode(t, s.DeleteCookieJar(t.Context(), jar.ID), cookiejars.InUse)
	stopMonitor(t, s, using.ID)

	// A channel, whose streams are not registered yet, keeps it, too.
	c, second := newChannel(1), newChannel(2)
	c.Template.Jar, second.Template.Jar = jar.Name, jar.Name
	check(t, s.CreateChannel(t.Context(), c))
	if e := requireCode(t, s.DeleteCookieJar(t.Context(), jar.ID), cookiejars.InUse); !strings.Contains(e.Message, `the channel "https://www.youtube.com/@channel1" uses`) {
		t.Errorf("the error does not name the channel: %v", e)
	}
	check(t, s.CreateChannel(t.Context(), second))
	requireCode(t, s.DeleteCookieJar(t.Context(), jar.ID), cookiejars.InUse)
	expect(t, "the channels that use it", must(s.CookieJars(t.Context()))(t)[0].Channels, 2)
	stopChannel(t, s, c.ID)
	stopChannel(t, s, second.ID)

	// A lost key takes the jar away, not the list. A newer one encrypts it again.
	newer := openWithKey(t, dsn, reversing{first: "two", older: "one"})
	check(t, newer.ResealSecrets(t.Context()))
	expect(t, "jars encrypted by the older key", value[int](t, db, `SELECT count(*) FROM cookie_jars WHERE convert_from(sealed, 'utf8') NOT LIKE 'two%'`), 0)
	expect(t, "the content by the newer key", must(newer.CookieJar(t.Context(), jar.Name))(t).Text, "third")
	lost := openWithKey(t, dsn, reversing{first: "three"})
	if err := lost.ResealSecrets(t.Context()); err == nil || !strings.Contains(err.Error(), "DELETE FROM cookie_jars") {
		t.Errorf("the error of a lost key is %v", err)
	}
	expect(t, "the content without a key", must(lost.CookieJar(t.Context(), jar.Name))(t), cookie.Jar{Name: jar.Name})
	expect(t, "the state without a key", must(lost.CookieJars(t.Context()))(t)[0].State(), login.Unreadable)
	must(lost.UseCookieJar(t.Context(), jar.Name, func(*cookie.Jar, *cookiejars.Record) { t.Error("a jar that cannot be read is used") }))(t)

	for _, id := range []string{jar.ID, other.ID} {
		check(t, s.DeleteCookieJar(t.Context(), id))
	}
	requireCode(t, s.DeleteCookieJar(t.Context(), jar.ID), cookiejars.NotFound)
	requireCode(t, errorOf(s.ReplaceCookieJar(t.Context(), jar, "x")), cookiejars.NotFound)
	requireCode(t, errorOf(s.UseCookieJar(t.Context(), jar.Name, nil)), cookiejars.NotFound)
	expect(t, "the content of none", must(s.CookieJar(t.Context(), jar.Name))(t), cookie.Jar{Name: jar.Name})
	for n := range cookiejars.MaxJars {
		check(t, s.CreateCookieJar(t.Context(), cookieJar(10+n), "x"))
	}
	requireCode(t, s.CreateCookieJar(t.Context(), cookieJar(99), "x"), monitor.InvalidConfig)
}

func TestTwoGatewaysRenewACookieJarOneAfterTheOther(t *testing.T) { // section 17.7
	t.Parallel()
	dsn := database(t)
	first, second := openWithKey(t, dsn, reversing{first: "one"}), openWithKey(t, dsn, reversing{first: "one"})
	jar := cookieJar(1)
	check(t, first.CreateCookieJar(t.Context(), jar, "0"))
	const each = 10
	done := make(chan error)
	for i, store := range []cookiejars.ContentStore{first, second} {
		go func() {
			for n := range each {
				_, err := store.UseCookieJar(t.Context(), jar.Name, func(j *cookie.Jar, _ *cookiejars.Record) {
					j.Version, j.Text = j.Version+1, j.Text+cookie.Text(fmt.Sprintf(" %d", 1+i*each+n))
				})
				done <- err
			}
		}()
	}
	for range 2 * each {
		check(t, <-done)
	}
	final := must(second.CookieJar(t.Context(), jar.Name))(t)
	words := strings.Fields(string(final.Text))
	slices.Sort(words)
	if len(slices.Compact(words)) != 1+2*each || final.Version != 1+2*each {
		t.Errorf("version %d has the renewals %v", final.Version, words)
	}
}
