package ytdlp

import (
	"bytes"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// read makes an answer of what a run of yt-dlp left. Began and Source are the
// caller's. It is not sure of the answer when YouTube calls the stream live,
// yt-dlp lists nothing that can be watched, and nobody says why: then it may be
// worth asking for what yt-dlp does not list by itself.
func read(videoID string, stdout, stderr []byte) (answer watch.Resolution, sure bool) {
	said := hear(stderr)
	if stdout = bytes.TrimSpace(stdout); len(stdout) == 0 {
		return said.unanswered("yt-dlp printed nothing"), true
	}
	v, err := decode(videoID, stdout)
	if err != nil {
		return watch.Resolution{State: watch.ToolFailed, Detail: said.explain("yt-dlp's answer cannot be used: " + err.Error())}, true
	}
	switch v.LiveStatus {
	case "is_live":
		return v.live(said)
	case "is_upcoming":
		return v.upcoming(said), true
	case "post_live":
		return watch.Resolution{State: watch.Ended, Detail: said.reason.words, ActualStart: v.release()}, true
	case "was_live":
		return v.wasLive(said), true
	}
	return v.unclear(said)
}

// live is a stream that YouTube calls live. Without formats the words decide:
// its encoder may not be sending, it may be closed to us, or YouTube may have
// refused to say where its media are, which must not pass for "not sending".
func (v *video) live(said testimony) (answer watch.Resolution, sure bool) {
	list, manifest := v.renditions()
	answer = watch.Resolution{State: watch.Live, Renditions: list, Manifest: manifest, ActualStart: v.release()}
	switch {
	case len(list) > 0 || manifest != "":
		return answer, true
	case said.reason.state != "":
		answer.State, answer.Detail = said.reason.state, said.reason.words
		return answer, true
	case said.fault.state != "":
		answer.State, answer.Detail = said.fault.state, said.fault.words
		return answer, true
	case v.playable():
		answer.Detail = "yt-dlp lists media, but none of it as HLS or DASH without DRM"
	default:
		answer.State, answer.Detail = watch.Offline, said.explain("live by name, but YouTube lists no media")
	}
	return answer, false
}

// upcoming answers for a scheduled stream or a premiere, also when YouTube gave no
// more than that. A refusal that will not pass, or an end, outweighs it.
func (v *video) upcoming(said testimony) watch.Resolution {
	answer := watch.Resolution{State: watch.Upcoming, Detail: said.reason.words}
	switch said.reason.state {
	case watch.Ended, watch.Private, watch.Removed, watch.RegionLocked, watch.AgeRestricted, watch.MembersOnly:
		answer.State = said.reason.state
	}
	return answer
}

// wasLive answers Ended, unless YouTube refused the media in words. yt-dlp
// concludes was_live from "live content that is not live now", and a page that
// refuses a running stream reads the same: the refusal is the answer (decision S19).
func (v *video) wasLive(said testimony) watch.Resolution {
	answer := watch.Resolution{State: watch.Ended, Detail: said.reason.words, ActualStart: v.release()}
	if v.playable() {
		return answer
	}
	switch said.reason.state {
	case watch.Upcoming:
		return v.upcoming(said)
	case watch.Blocked, watch.Private, watch.Removed, watch.RegionLocked, watch.AgeRestricted, watch.MembersOnly:
		answer.State = said.reason.state
	}
	return answer
}

// unclear is not_live, or a video of which YouTube told nothing but a reason.
func (v *video) unclear(said testimony) (answer watch.Resolution, sure bool) {
	switch {
	case v.playable():
		if v.LiveStatus == "" && v.IsLive != nil && *v.IsLive {
			return v.live(said)
		}
		return watch.Resolution{State: watch.NotALiveStream}, true
	case said.reason.state != "":
		return watch.Resolution{State: said.reason.state, Detail: said.reason.words}, true
	case v.LiveStatus == "not_live":
		return watch.Resolution{State: watch.NotALiveStream, Detail: said.explain("YouTube calls it no live stream")}, true
	}
	return said.unanswered("yt-dlp found no video"), true
}
