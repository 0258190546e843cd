package detector

var loudnessLowWords = Words{
	English: Phrases{
		Title:     "Quiet sound",
		State:     "quiet",
		Lasts:     "Too quiet for {lasted}.",
		Alert:     "Sound is too quiet",
		Recovered: "Sound is loud enough again",
		Means:     "Too quiet is under {below_lufs} LUFS.",
		First:     "look at the master fader and the input level of the encoder → preview in {studio}.",
		Check:     "Does the meter at the mixer's output show the usual level? If it does, the input of the encoder is too low. If it does not, look at the master fader and the microphones.",
		Settings:  map[string]string{"detectors.loudness_low.threshold_sec": "Too quiet: alert after, s", belowLUFS: "Too quiet is under, LUFS"},
		Values:    map[string]string{"loudness_lufs": "Loudness, LUFS"},
	},
	Japanese: Phrases{
		Title:     "音量不足",
		State:     "音量不足",
		Lasts:     "音量不足が{lasted}継続。",
		Alert:     "音量不足",
		Recovered: "音量が適正に復旧",
		Means:     "{below_lufs} LUFS未満なら音量不足。",
		First:     "マスターフェーダーとエンコーダーの入力レベル → {studio}のプレビュー",
		Check:     "ミキサー出力のメーターは通常のレベルですか。通常なら、エンコーダーの入力レベルが低すぎます。低ければ、マスターフェーダーとマイクを確認してください。",
		Settings:  map[string]string{"detectors.loudness_low.threshold_sec": "音量不足のアラートまで（秒）", belowLUFS: "音量不足とみなすラウドネス（LUFS未満）"},
		Values:    map[string]string{"loudness_lufs": "ラウドネス（LUFS）"},
	},
}

var loudnessHighWords = Words{
	English: Phrases{
		Title:     "Loud sound",
		State:     "loud",
		Lasts:     "Too loud for {lasted}.",
		Alert:     "Sound is too loud",
		Recovered: "Sound is no longer too loud",
		Means:     "Too loud is over {above_lufs} LUFS.",
		First:     "look at the output of the mixer and the input level of the encoder → preview in {studio}.",
		Check:     "Does the meter at the mixer's output show the usual level? If it does, the input of the encoder is too high. If it does not, lower the master fader.",
		Settings:  map[string]string{"detectors.loudness_high.threshold_sec": "Too loud: alert after, s", aboveLUFS: "Too loud is over, LUFS"},
		Values:    map[string]string{"loudness_lufs": "Loudness, LUFS"},
	},
	Japanese: Phrases{
		Title:     "音量過大",
		State:     "音量過大",
		Lasts:     "音量過大が{lasted}継続。",
		Alert:     "音量過大",
		Recovered: "音量が適正に復旧",
		Means:     "{above_lufs} LUFSを超えれば音量過大。",
		First:     "ミキサーの出力とエンコーダーの入力レベル → {studio}のプレビュー",
		Check:     "ミキサー出力のメーターは通常のレベルですか。通常なら、エンコーダーの入力レベルが高すぎます。高ければ、マスターフェーダーを下げてください。",
		Settings:  map[string]string{"detectors.loudness_high.threshold_sec": "音量過大のアラートまで（秒）", aboveLUFS: "音量過大とみなすラウドネス（LUFS超）"},
		Values:    map[string]string{"loudness_lufs": "ラウドネス（LUFS）"},
	},
}

var clippingWords = Words{
	English: Phrases{
		Title:     "Clipped sound",
		State:     "clipped",
		Lasts:     "Clipped sound for {lasted}.",
		Alert:     "Sound is clipped",
		Recovered: "Sound is no longer clipped",
		Means:     "Clipped is sound that reaches full scale in a share of {share_at_least} of the moments of 100 ms.",
		First:     "lower the level where it is too high first: microphones, mixer, input of the encoder → preview in {studio}.",
		Check:     "Which meter is in the red first: that of a microphone, of the mixer's output or of the encoder's input? Lower the level there. Behind it, clipped sound only gets quieter.",
		Settings:  map[string]string{"detectors.clipping.threshold_sec": "Clipped: alert after, s", clippedShare: "Clipped from a share of, of 1"},
		Values:    map[string]string{"full_scale_share": "Share at full scale, of 1"},
	},
	Japanese: Phrases{
		Title:     "音割れ",
		State:     "音割れ",
		Lasts:     "音割れが{lasted}継続。",
		Alert:     "音割れ",
		Recovered: "音割れから復旧",
		Means:     "100ミリ秒ごとに見て、フルスケールに達した割合が{share_at_least}以上なら音割れ。",
		First:     "マイクのゲイン、ミキサーの出力、エンコーダーの入力レベル → {studio}のプレビュー",
		Check:     "マイク、ミキサー出力、エンコーダー入力のうち、最初に振り切れるメーターはどれですか。その箇所のレベルを下げてください。後段で下げても音割れは直りません。",
		Settings:  map[string]string{"detectors.clipping.threshold_sec": "音割れのアラートまで（秒）", clippedShare: "音割れとみなす割合（最大1）"},
		Values:    map[string]string{"full_scale_share": "フルスケールの割合（最大1）"},
	},
}

var oneSidedWords = Words{
	English: Phrases{
		Title:     "One-sided sound",
		State:     "one-sided",
		Lasts:     "One-sided or inverted sound for {lasted}.",
		Alert:     "Sound is one-sided or inverted",
		Recovered: "Both channels are back",
		Means:     "One-sided is a difference of {difference_db_at_least} dB between left and right; inverted is a correlation of {correlation_at_most} or less.",
		First:     "look at the audio cables and the pan of the mixer (a channel missing, or inverted?) → preview in {studio}, with headphones.",
		Check:     "Do both channels of the mixer's output move? If only one does, look at cables, faders and pan. If both do, one of them is inverted: a cable with swapped pins, or a phase switch.",
		Settings:  map[string]string{"detectors.one_sided.threshold_sec": "One-sided: alert after, s", sidesDiffer: "One-sided from a difference of, dB"},
		Values:    map[string]string{"left_dbfs": "Left, dBFS", "right_dbfs": "Right, dBFS", "correlation": "Correlation, −1 to 1"},
	},
	Japanese: Phrases{
		Title:     "片ch・逆相",
		State:     "片ch・逆相",
		Lasts:     "片chまたは逆相の音声が{lasted}継続。",
		Alert:     "音声が片chまたは逆相",
		Recovered: "左右の音声が復旧",
		Means:     "左右の差が{difference_db_at_least} dB以上なら片ch、相関が{correlation_at_most}以下なら逆相。",
		First:     "音声ケーブルとミキサーのパン（片ch断？逆相？）→ {studio}のプレビューをヘッドホンで",
		Check:     "ミキサー出力のメーターは左右とも振れていますか。片方だけなら、ケーブル、フェーダー、パンを確認してください。両方なら逆相です。ケーブルの結線と位相スイッチを確認してください。",
		Settings:  map[string]string{"detectors.one_sided.threshold_sec": "片ch・逆相のアラートまで（秒）", sidesDiffer: "片chとみなす左右の差（dB以上）"},
		Values:    map[string]string{"left_dbfs": "左（dBFS）", "right_dbfs": "右（dBFS）", "correlation": "相関（−1～1）"},
	},
}
