package ingest

import (
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// NoData is the type of an Issue that no API names: the broadcast is live, and the encoder sends nothing.
const NoData = "noData"

// kind is what is known of a type of issue.
type kind struct {
	severity Severity       // of an issue that has none; assumed, because YouTube publishes none
	causes   []trouble.Name // that it may cause: it names what the stream lacks, or what keeps YouTube from decoding it
	words    Words
}

// The conditions that a signal may explain.
var (
	black, silent, noMedia = trouble.Black, trouble.Silent, trouble.NoMedia
	explained              = []trouble.Name{black, silent, noMedia}
)

// row is a kind with its name.
type row struct {
	name string
	kind
}

// table has NoData, and the types of configuration issues of the YouTube Live Streaming API, of its discovery document of
// 2026-11-04. The issue that explains most comes first.
var table = []row{
	{NoData, kind{Error, []trouble.Name{black, silent, noMedia}, Words{
		Phrases{"The broadcast is live, and the encoder sends nothing.", "Is the encoder running? Check its uplink and its stream key."},
		Phrases{"ライブ中ですが、エンコーダーから何も届いていません。", "エンコーダーの動作、回線、ストリームキーを確認してください。"},
	}}},
	{"noVideoStream", kind{Error, []trouble.Name{black, noMedia}, Words{
		Phrases{"The signal has no video.", "Check the video source and the video track of the encoder."},
		Phrases{"信号に映像がありません。", "エンコーダーの映像入力と映像トラックを確認してください。"},
	}}},
	{"noAudioStream", kind{Error, []trouble.Name{silent, noMedia}, Words{
		Phrases{"The signal has no audio.", "Check the audio source and the audio track of the encoder."},
		Phrases{"信号に音声がありません。", "エンコーダーの音声入力と音声トラックを確認してください。"},
	}}},
	{"videoIngestionStarved", kind{Error, []trouble.Name{black, silent, noMedia}, Words{
		Phrases{"Too little data arrives for a smooth stream.", "Check the uplink and the load of the encoder; lower the bitrate."},
		Phrases{"届くデータが足りず、配信が途切れます。", "エンコーダーの回線と負荷を確認し、ビットレートを下げてください。"},
	}}},
	{"badContainer", kind{Error, []trouble.Name{black, silent, noMedia}, Words{
		Phrases{"The container format of the signal is not supported.", "Let the encoder send a format that YouTube accepts, such as FLV by RTMP."},
		Phrases{"信号のコンテナー形式に対応していません。", "RTMPのFLVなど、YouTubeが対応する形式で送ってください。"},
	}}},
	{"videoCodec", kind{Error, []trouble.Name{black, noMedia}, Words{
		Phrases{"The video codec is not supported.", "Set the encoder to H.264."},
		Phrases{"映像コーデックに対応していません。", "エンコーダーの映像コーデックをH.264にしてください。"},
	}}},
	{"audioCodec", kind{Error, []trouble.Name{silent, noMedia}, Words{
		Phrases{"The audio codec is not supported.", "Set the encoder to AAC or MP3."},
		Phrases{"音声コーデックに対応していません。", "エンコーダーの音声コーデックをAACまたはMP3にしてください。"},
	}}},
	{"videoResolutionUnsupported", kind{Error, []trouble.Name{black, noMedia}, Words{
		Phrases{"The size of the picture is not supported.", "Set the encoder to one of YouTube's resolutions, such as 1920 × 1080."},
		Phrases{"映像の解像度に対応していません。", "1920×1080など、YouTubeが対応する解像度にしてください。"},
	}}},
	{"multipleVideoStreams", kind{Error, []trouble.Name{black}, Words{
		Phrases{"The signal has more than one video track.", "Let the encoder send one video track."},
		Phrases{"信号に映像トラックが複数あります。", "映像トラックを1つにしてください。"},
	}}},
	{"multipleAudioStreams", kind{Error, []trouble.Name{silent}, Words{
		Phrases{"The signal has more than one audio track.", "Let the encoder send one audio track."},
		Phrases{"信号に音声トラックが複数あります。", "音声トラックを1つにしてください。"},
	}}},
	{"audioTooManyChannels", kind{Error, []trouble.Name{silent}, Words{
		Phrases{"The audio has more channels than YouTube accepts.", "Set the encoder to stereo."},
		Phrases{"音声のチャンネル数が多すぎます。", "エンコーダーの音声をステレオにしてください。"},
	}}},
	{"audioSampleRate", kind{Error, []trouble.Name{silent}, Words{
		Phrases{"The sample rate of the audio is not supported.", "Set the encoder to 44.1 or 48 kHz."},
		Phrases{"音声のサンプリングレートに対応していません。", "44.1または48 kHzにしてください。"},
	}}},
	{"gopSizeOver", kind{Error, []trouble.Name{noMedia}, Words{
		Phrases{"Key frames are too far apart.", "Set the key frame interval of the encoder to 2 s, at most 4 s."},
		Phrases{"キーフレームの間隔が長すぎます。", "キーフレームの間隔を2秒（最大4秒）にしてください。"},
	}}},
	{"openGop", kind{Error, []trouble.Name{noMedia}, Words{
		Phrases{"The encoder makes open GOPs, which YouTube does not accept.", "Switch open GOP off in the encoder."},
		Phrases{"対応していないオープンGOPが使われています。", "エンコーダーのオープンGOPをオフにしてください。"},
	}}},
	{"videoIngestionFasterThanRealtime", kind{Error, []trouble.Name{noMedia}, Words{
		Phrases{"Video arrives faster than it plays.", "Check the clock and the frame rate of the encoder, and that nothing sends a recording."},
		Phrases{"映像が実時間より速く届いています。", "エンコーダーの時計とフレームレート、録画を送っていないかを確認してください。"},
	}}},
	{"gopSizeLong", kind{Warning, nil, Words{
		Phrases{"Key frames are far apart, so viewers may wait.", "Set the key frame interval of the encoder to 2 s."},
		Phrases{"キーフレームの間隔が長く、再生が待たされることがあります。", "キーフレームの間隔を2秒にしてください。"},
	}}},
	{"gopSizeShort", kind{Warning, nil, Words{
		Phrases{"Key frames are too close together, which costs quality.", "Set the key frame interval of the encoder to 2 s."},
		Phrases{"キーフレームの間隔が短すぎ、画質が落ちます。", "キーフレームの間隔を2秒にしてください。"},
	}}},
	{"interlacedVideo", kind{Warning, nil, Words{
		Phrases{"The video is interlaced.", "Let the encoder deinterlace, or send progressive video."},
		Phrases{"映像がインターレースです。", "エンコーダーでインターレースを解除するか、プログレッシブで送ってください。"},
	}}},
	{"audioBitrateHigh", kind{Warning, nil, Words{
		Phrases{"The audio bitrate is higher than recommended.", "Set the audio bitrate of the encoder to 128 kbit/s (stereo)."},
		Phrases{"音声ビットレートが推奨より高くなっています。", "音声ビットレートを128 kbit/s（ステレオ）にしてください。"},
	}}},
	{"audioBitrateLow", kind{Warning, nil, Words{
		Phrases{"The audio bitrate is lower than recommended.", "Set the audio bitrate of the encoder to 128 kbit/s (stereo)."},
		Phrases{"音声ビットレートが推奨より低くなっています。", "音声ビットレートを128 kbit/s（ステレオ）にしてください。"},
	}}},
	{"bitrateHigh", kind{Warning, nil, Words{
		Phrases{"The bitrate is higher than recommended.", "Lower the video bitrate of the encoder."},
		Phrases{"ビットレートが推奨より高くなっています。", "映像ビットレートを下げてください。"},
	}}},
	{"bitrateLow", kind{Warning, nil, Words{
		Phrases{"The bitrate is lower than recommended: the picture may be poor.", "Check the uplink, or raise the video bitrate of the encoder."},
		Phrases{"ビットレートが推奨より低く、画質が落ちることがあります。", "回線を確認するか、映像ビットレートを上げてください。"},
	}}},
	{"frameRateHigh", kind{Warning, nil, Words{
		Phrases{"The frame rate is higher than YouTube shows.", "Set the encoder to at most 60 frames per second."},
		Phrases{"フレームレートが高すぎます。", "フレームレートを60 fps以下にしてください。"},
	}}},
	{"videoResolutionSuboptimal", kind{Info, nil, Words{
		Phrases{"The size of the picture is not one that YouTube recommends.", "Set the encoder to a recommended resolution, such as 1920 × 1080."},
		Phrases{"映像の解像度が推奨と異なります。", "1920×1080など、推奨の解像度にしてください。"},
	}}},
	mismatch("resolutionMismatch", "resolution", "解像度"),
	mismatch("videoCodecMismatch", "video codec", "映像コーデック"),
	mismatch("videoInterlaceMismatch", "interlacing", "インターレースの設定"),
	mismatch("videoProfileMismatch", "video profile", "映像プロファイル"),
	mismatch("videoBitrateMismatch", "video bitrate", "映像ビットレート"),
	mismatch("framerateMismatch", "frame rate", "フレームレート"),
	mismatch("gopMismatch", "key frame interval", "キーフレームの間隔"),
	mismatch("audioSampleRateMismatch", "sample rate", "サンプリングレート"),
	mismatch("audioStereoMismatch", "number of audio channels", "音声のチャンネル数"),
	mismatch("audioCodecMismatch", "audio codec", "音声コーデック"),
	mismatch("audioBitrateMismatch", "audio bitrate", "音声ビットレート"),
}

// mismatch returns the row of a difference between the primary and the backup signal.
func mismatch(name, english, japanese string) row {
	return row{name, kind{Warning, nil, Words{
		Phrases{"The primary and the backup signal differ in their " + english + ".", "Give both encoders the same settings: a change-over would be seen or heard."},
		Phrases{"メインとバックアップの信号で" + japanese + "が異なります。", "両方のエンコーダーを同じ設定にしてください。切り替わると乱れます。"},
	}}}
}

// kinds are the rows of table by their names.
var kinds = func() map[string]kind {
	all := make(map[string]kind, len(table))
	for _, r := range table {
		all[r.name] = r.kind
	}
	return all
}()

// Types returns the types of issues that are known, NoData left out.
func Types() (names []string) {
	for _, r := range table[1:] {
		names = append(names, r.name)
	}
	return names
}

// rank returns the place of a type in table; one that is not known comes last.
func rank(name string) int {
	if at := slices.IndexFunc(table, func(r row) bool { return r.name == name }); at >= 0 {
		return at
	}
	return len(table)
}
