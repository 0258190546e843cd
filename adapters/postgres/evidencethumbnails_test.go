package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func wanted(t *testing.T, s *postgres.Store, id monitor.ID) bool {
	t.Helper()
	return must(s.Accept(t.Context(), id, report()))(t).ThumbnailWanted
}

func TestAThumbnailGoesFromOneGatewayToTheOther(t *testing.T) {
	dsn := database(t)
	first, second := open(t, dsn), open(t, dsn)
	m, other := register(t, first, 1), register(t, first, 2)
	ctx, cancel := context.WithCancel(t.Context())
	announced := make(chan feed.Thumbnail, 10)
	wakes := second.ListenFeed(ctx, func(n feed.Thumbnail) { announced <- n })
	defer func() {
		cancel()
		for range wakes { // closed when it listens no more
		}
	}()
	<-wakes // it listens

	thumbnail := evidences.Thumbnail{MonitorID: m.ID, TakenAt: noon, JPEG: []byte("jpeg\x00\xff")}
	if is, err := first.PutThumbnail(t.Context(), thumbnail, 1); err != nil || is || wanted(t, first, m.ID) {
		t.Errorf("before a page asked, a thumbnail is wanted: %v, %v", is, err)
	}
	requireCode(t, errorOf(second.GetThumbnail(t.Context(), m.ID)), monitor.NotFound)
	for range 2 {
		check(t, second.LeaseThumbnails(t.Context(), []monitor.ID{m.ID, "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d"}, 30*time.Second))
	}
	if !wanted(t, first, m.ID) || wanted(t, first, other.ID) {
		t.Error("the lease is not seen by the answers to reports")
	}
	older := thumbnail
	older.TakenAt, older.JPEG = noon.Add(-time.Second), []byte("old")
	for _, put := range []evidences.Thumbnail{thumbnail, older, thumbnail} {
		if is, err := first.PutThumbnail(t.Context(), put, 1); err != nil || !is {
			t.Errorf("wanted is %v, %v", is, err)
		}
	}
	got, err := second.GetThumbnail(t.Context(), m.ID)
	if err != nil || string(got.JPEG) != "jpeg\x00\xff" || !got.TakenAt.Equal(noon) {
		t.Errorf("the thumbnail is %+v, %v", got, err)
	}
	expect(t, "the announcement", <-announced, feed.NewThumbnail(m.ID, noon))
	expect(t, "announcements of an older thumbnail, or of the same one again", len(announced), 0)
	requireSuperseded(t, errorOf(first.PutThumbnail(t.Context(), thumbnail, 2)))
	acceptReport(t, first, m.ID, monitor.Report{Generation: 1, At: noon, Status: monitor.Completed}, monitor.Stop)
	requireCode(t, errorOf(first.PutThumbnail(t.Context(), thumbnail, 1)), monitor.NotFound)
}

func TestThumbnailsEndWithTheirLease(t *testing.T) {
	s := open(t, database(t))
	m := register(t, s, 1)
	check(t, s.LeaseThumbnails(t.Context(), []monitor.ID{m.ID}, 30*time.Second))
	must(s.PutThumbnail(t.Context(), evidences.Thumbnail{MonitorID: m.ID, TakenAt: noon, JPEG: []byte("j")}, 1))(t)
	check(t, s.LeaseThumbnails(t.Context(), []monitor.ID{m.ID}, -time.Second))
	expect(t, "after a shorter lease it is wanted", wanted(t, s, m.ID), true)
	check(t, s.DeleteThumbnails(t.Context(), time.Hour))
	must(s.GetThumbnail(t.Context(), m.ID))(t)
	check(t, s.DeleteThumbnails(t.Context(), 0))
	requireCode(t, errorOf(s.GetThumbnail(t.Context(), m.ID)), monitor.NotFound)
}
