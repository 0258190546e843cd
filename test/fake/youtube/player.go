package youtube

import (
	"strconv"
	"time"
)

type object = map[string]any

// webClient is the client of the pages.
const webClient = "WEB"

// playerResponse returns the player API's answer about a video, which is also a
// part of the watch page. client is the one that asks. signedIn is whether the request has the accepted login.
func (y *Server) playerResponse(id, client string, signedIn bool) object {
	v := y.video(id)
	if v.Login && !signedIn {
		v.State = Members
	}
	r, refused := refusals[v.State]
	if v.MembersOnly {
		r, refused = refusals[Members], true
	}
	channel, c, _ := y.channelOf(v.channel())
	answer := object{"responseContext": object{"visitorData": visitor}, "playabilityStatus": playability(v, r, refused)}
	if refused && !r.hasDetails {
		return answer
	}
	answer["videoDetails"] = details(id, v, channel, c)
	answer["microformat"] = object{"playerMicroformatRenderer": microformat(v, channel, c)}
	if !refused {
		answer["streamingData"] = y.streams(id, client, v)
	}
	return answer
}

func playability(v entry, r refusal, refused bool) object {
	if !refused {
		return object{"status": "OK", "playableInEmbed": true}
	}
	p := object{"status": r.status, "reason": r.reason, "playableInEmbed": r.hasDetails}
	message := object{"reason": object{"simpleText": r.reason}}
	if r.subreason != "" {
		message["subreason"] = object{"simpleText": r.subreason}
	}
	switch {
	case r.captcha:
		p["errorScreen"] = object{"playerCaptchaViewModel": object{"message": "verify"}}
	case !r.hasDetails:
		p["errorScreen"] = object{"playerErrorMessageRenderer": message}
	}
	if !v.Scheduled.IsZero() {
		p["liveStreamability"] = object{"liveStreamabilityRenderer": object{
			"offlineSlate": object{"liveStreamOfflineSlateRenderer": object{"scheduledStartTime": strconv.FormatInt(v.Scheduled.Unix(), 10)}},
		}}
	}
	return p
}

func details(id string, v entry, channel string, c Channel) object {
	d := object{
		"videoId": id, "title": v.Title, "author": c.Title, "channelId": channel, "lengthSeconds": "0",
		"shortDescription": "", "viewCount": "1", "isPrivate": false, "isLiveContent": v.State != Ordinary,
	}
	switch v.State {
	case Upcoming, Premiere:
		d["isUpcoming"] = true
		d["isLiveContent"] = v.State == Upcoming
	case Live, Offline:
		d["isLive"], d["isLiveDvrEnabled"] = true, true
	case PostLive:
		d["isPostLiveDvr"] = true
	case Archived, Ordinary:
		d["lengthSeconds"] = "600"
	}
	return d
}

func microformat(v entry, channel string, c Channel) object {
	m := object{
		"title": object{"simpleText": v.Title}, "category": "Entertainment", "externalChannelId": channel,
		"ownerChannelName": c.Title, "ownerProfileUrl": "http://www.youtube.com/" + c.Handle,
		"isFamilySafe": true, "isUnlisted": false, "availableCountries": []string{"JP", "US"},
	}
	if v.State == Ordinary {
		return m
	}
	broadcast := object{"isLiveNow": v.State == Live}
	start := v.Started
	if start.IsZero() {
		start = v.Scheduled
	}
	if !start.IsZero() {
		broadcast["startTimestamp"] = start.UTC().Format(time.RFC3339)
	}
	switch v.State {
	case Ended, PostLive, Archived, NoRecording:
		broadcast["endTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	}
	m["liveBroadcastDetails"] = broadcast
	return m
}

// streams returns the URLs of the media: a playlist of a live video, a file of
// any other.
func (y *Server) streams(id, client string, v entry) object {
	data := object{"expiresInSeconds": strconv.Itoa(int(expiry.Seconds()))}
	if v.State == Live {
		switch {
		case v.Origin != nil:
			y.originStreams(data, id, *v.Origin)
		case v.Source != nil:
			data["hlsManifestUrl"] = y.masterURL(id, client, v)
		}
		return data
	}
	data["formats"] = []object{{
		"itag": 18, "url": segmentHost + "/videoplayback?id=" + id + "&itag=18", "mimeType": `video/mp4; codecs="avc1.42001E, mp4a.40.2"`,
		"width": 640, "height": 360, "quality": "medium", "qualityLabel": "360p", "fps": 30, "bitrate": 500_000, "approxDurationMs": "600000",
	}}
	return data
}
