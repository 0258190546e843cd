package detector

var pictureDamageWords = Words{
	English: Phrases{
		Title:     "Damaged picture",
		State:     "damaged",
		Lasts:     "Damaged picture for {lasted}.",
		Alert:     "Picture is damaged",
		Recovered: "Picture is whole again",
		Means:     "Damaged is a picture of which a share of {share_at_least} of the time is broken or missing.",
		First:     "open the stream in a browser → stream health in {studio}.",
		Check:     "Do viewers see it in a browser? Then segments of the platform are broken. A bad upload seldom looks like this, because the platform encodes it anew: look at what it says of the upload itself.",
		Settings:  map[string]string{"detectors.picture_damage.threshold_sec": "Damaged: alert after, s", damagedShare: "Damaged from a share of, of 1"},
		Values:    map[string]string{"damaged_share": "Damaged share, of 1"},
	},
	Japanese: Phrases{
		Title:     "映像の乱れ",
		State:     "乱れ",
		Lasts:     "映像の乱れが{lasted}継続。",
		Alert:     "映像の乱れ",
		Recovered: "映像の乱れから復旧",
		Means:     "壊れた、または欠けた映像の割合が{share_at_least}以上なら乱れ。",
		First:     "ブラウザーで配信を確認 → {studio}の「ストリームの状態」",
		Check:     "ブラウザーでも乱れていますか。乱れていれば、配信側のセグメントが壊れています。アップロードの乱れは再エンコードされるため、ここにはほとんど現れません。配信サイトの管理画面で確認してください。",
		Settings:  map[string]string{"detectors.picture_damage.threshold_sec": "映像の乱れのアラートまで（秒）", damagedShare: "乱れとみなす割合（最大1）"},
		Values:    map[string]string{"damaged_share": "乱れの割合（最大1）"},
	},
}
