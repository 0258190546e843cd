package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func reference(n int) references.Upload {
	return references.Upload{
		Record: references.Record{
			ID: fmt.Sprintf("0190a5d8-1c2b-7d8a-9c1d-%012d", n), Name: fmt.Sprintf("slate %d", n), Unwanted: detector.Always, Similarity: 0.9,
			MediaType: "image/png", Width: 1280, Height: 720, Size: 4, CreatedAt: noon.UTC(),
		},
		Digests: []detector.Picture{{Width: 1280, Height: 720, Luma: []byte{1, 2}, U: []byte{3}, V: []byte{4}}}, Image: []byte("\x89PNG"),
	}
}

// lookedFor returns the names of what a worker of the monitor gets: its own, and those of its channel.
func lookedFor(t testing.TB, s *postgres.Store, id monitor.ID) (names [2][]string) {
	t.Helper()
	own, ofChannel, err := s.References(t.Context(), id)
	check(t, err)
	for n, list := range [2][]detector.Reference{own, ofChannel} {
		for _, r := range list {
			names[n] = append(names[n], r.Name)
		}
	}
	return names
}

// registerOf registers a monitor of a channel.
func registerOf(t testing.TB, s *postgres.Store, n int, channelID string) monitor.Monitor {
	t.Helper()
	m := registration(n)
	m.ChannelID = channelID
	check(t, s.Insert(t.Context(), m, unlimited))
	return m
}

func TestAReferenceIsStoredWithTheNextRevision(t *testing.T) { // section 17.6
	t.Parallel()
	for _, kind := range []struct {
		name           string
		unknown        references.Owner
		missing, ended monitor.Code
	}{
		{"of a monitor", references.Owner{Monitor: "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d"}, monitor.NotFound, monitor.Ended},
		{"of a channel", references.Owner{Channel: newID()}, channels.NotFound, channels.Stopped},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			s, db := newStore(t)
			c, otherChannel := createChannel(t, s, 1), createChannel(t, s, 2)
			m, otherMonitor := registerOf(t, s, 1, c.ID), register(t, s, 2)
			owner, other := references.Owner{Monitor: m.ID}, references.Owner{Monitor: otherMonitor.ID}
			if kind.unknown.Channel != "" {
				owner, other = references.Owner{Channel: c.ID}, references.Owner{Channel: otherChannel.ID}
			}
			head := feedHead(t, s, db)
			first, second := reference(1), reference(2)
			check(t, s.AddReference(t.Context(), owner, first))
			check(t, s.AddReference(t.Context(), owner, second))
			expect(t, "the feed", feedSince(t, s, head), []string{"monitor.updated initializing"})
			check(t, s.AddReference(t.Context(), other, references.Upload{Record: reference(3).Record, Image: []byte("x")}))
			list := must(s.ListReferences(t.Context(), owner))(t)
			for i := range list {
				list[i].CreatedAt = list[i].CreatedAt.UTC()
			}
			expect(t, "the list", list, []references.Record{first.Record, second.Record})
			own, ofChannel, err := s.References(t.Context(), m.ID)
			check(t, err)
			expect(t, "what a worker gets", append(own, ofChannel...), []detector.Reference{
				{Name: "slate 1", Unwanted: detector.Always, Similarity: 0.9, Digests: first.Digests}, {Name: "slate 2", Unwanted: detector.Always, Similarity: 0.9, Digests: second.Digests},
			})
			expect(t, "the answer to the worker", must(s.Accept(t.Context(), m.ID, report()))(t).Revision, 2)
			mediaType, image, err := s.ReferenceImage(t.Context(), owner, first.ID)
			check(t, err)
			expect(t, "the image", mediaType+" "+string(image), "image/png \x89PNG")

			twin := reference(9)
			twin.Name = first.Name
			requireCode(t, s.AddReference(t.Context(), owner, twin), monitor.NameTaken)
			requireCode(t, s.RemoveReference(t.Context(), other, first.ID), references.NotFound)
			_, _, err = s.ReferenceImage(t.Context(), other, first.ID)
			requireCode(t, err, references.NotFound)
			check(t, s.RemoveReference(t.Context(), owner, first.ID))
			expect(t, "the references that are left", len(must(s.ListReferences(t.Context(), owner))(t)), 1)
			for n := range references.MaxReferences - 1 {
				check(t, s.AddReference(t.Context(), owner, reference(20+n)))
			}
			requireCode(t, s.AddReference(t.Context(), owner, reference(40)), monitor.InvalidConfig)
			expect(t, "the revision after all of that", getMonitor(t, s, m.ID).Revision, 3+references.MaxReferences-1)

			stopMonitor(t, s, m.ID)
			stopChannel(t, s, c.ID)
			requireCode(t, s.AddReference(t.Context(), owner, reference(40)), kind.ended)
			requireCode(t, s.RemoveReference(t.Context(), owner, second.ID), kind.ended)
			expect(t, "the references that can be read at the end", len(must(s.ListReferences(t.Context(), owner))(t)), references.MaxReferences)
			requireCode(t, errorOf(s.ListReferences(t.Context(), kind.unknown)), kind.missing)
			_, _, err = s.ReferenceImage(t.Context(), kind.unknown, first.ID)
			requireCode(t, err, kind.missing)
			requireCode(t, s.AddReference(t.Context(), kind.unknown, reference(50)), kind.missing)
		})
	}
}

func TestAMonitorHasTheReferencesOfItsChannelUntilItEnds(t *testing.T) { // sections 17.6 and 20.1
	t.Parallel()
	s, db := newStore(t)
	c := createChannel(t, s, 1)
	ended, found, adopted := registerOf(t, s, 1, c.ID), registerOf(t, s, 2, c.ID), register(t, s, 3)
	stopMonitor(t, s, ended.ID)
	of, same := references.Owner{Channel: c.ID}, reference(2)
	same.Name = reference(1).Name // that of the channel
	check(t, s.AddReference(t.Context(), of, reference(1)))
	check(t, s.AddReference(t.Context(), references.Owner{Monitor: found.ID}, same))
	expect(t, "what is looked for", lookedFor(t, s, found.ID), [2][]string{{"slate 1"}, {"slate 1"}})
	expect(t, "what is looked for in no stream of the channel", lookedFor(t, s, adopted.ID), [2][]string{})
	_, _, err := s.Adopt(t.Context(), adopted.ID, c.ID)
	check(t, err)
	expect(t, "what is looked for in an adopted one", lookedFor(t, s, adopted.ID), [2][]string{nil, {"slate 1"}})
	for id, want := range map[monitor.ID]int{ended.ID: 0, found.ID: 2, adopted.ID: 1} {
		expect(t, "the revision of "+string(id), getMonitor(t, s, id).Revision, want)
	}

	stopChannel(t, s, c.ID)
	alter(t, db, `UPDATE channels SET stopped_at = now() - interval '2 days'`)
	stopMonitor(t, s, found.ID)
	check(t, s.ExpireChannels(t.Context(), 24*time.Hour, 10))
	expect(t, "what is looked for while a stream is watched", lookedFor(t, s, adopted.ID), [2][]string{nil, {"slate 1"}})
	stopMonitor(t, s, adopted.ID)
	check(t, s.ExpireChannels(t.Context(), 24*time.Hour, 10))
	requireEmpty(t, db, "channels", "reference_images WHERE channel_id IS NOT NULL")
}
