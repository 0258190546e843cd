package detector

var blackoutWords = Words{
	English: Phrases{
		Title:     "Black video",
		State:     "black",
		Lasts:     "Black for {lasted}.",
		Alert:     "Picture is black",
		Recovered: "Picture is back",
		Means:     "Black is luma under {luma_below_percent}\u00a0% in {area_percent}\u00a0% of the picture.",
		First:     "look at the output of the encoder and the switcher → preview in {studio}.",
		Check:     "Is the programme output of the switcher black? Sound that still arrives means the encoder is up.",
		Settings:  map[string]string{"blackout_threshold_sec": "Black: alert after, s"},
	},
	Japanese: Phrases{
		Title:     "映像が真っ黒",
		State:     "真っ黒",
		Lasts:     "映像が{lasted}真っ黒。",
		Alert:     "映像が真っ黒",
		Recovered: "映像が復旧",
		Means:     "画面の{area_percent}%で輝度{luma_below_percent}%未満なら真っ黒。",
		First:     "エンコーダー/スイッチャーの出力 → {studio}のプレビュー",
		Check:     "スイッチャーの本線出力が黒になっていませんか。音声が届いていれば、エンコーダーは動いています。",
		Settings:  map[string]string{"blackout_threshold_sec": "真っ黒のアラートまで（秒）"},
	},
}
