// The icon of the page with the number of incidents that nobody has; grey while the feed is lost.
import icon from "./icon.svg";

const size = 64;
let wanted = ""; // the newest drawing; an older one that ends later is dropped
let shown = "";

// drawFavicon may be called often: it draws when something changes. lost: the number is as of then. A gateway that is away does not
// give the picture: that is an error, and the same may be drawn again.
export async function drawFavicon(count: number, lost: boolean): Promise<void> {
  const drawing = `${count} ${lost}`;
  if (wanted === drawing) return;
  wanted = drawing;
  const picture = new Image();
  picture.src = icon;
  await picture.decode().catch((error: unknown) => {
    wanted = "";
    throw error;
  });
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = size;
  const c = canvas.getContext("2d");
  if (!c) return;
  if (lost) c.filter = "grayscale(1) opacity(.6)";
  c.drawImage(picture, 0, 0, size, size);
  c.filter = "none";
  if (count > 0 || lost) label(c, lost ? "?" : count > 99 ? "99+" : String(count), lost);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done));
  if (!blob || wanted !== drawing) return;
  if (shown) URL.revokeObjectURL(shown);
  shown = URL.createObjectURL(blob);
  const link = document.querySelector<HTMLLinkElement>("link[rel=icon]")!;
  link.type = "image/png";
  link.href = shown;
}

// label is large enough for the 16 px that a browser gives an icon.
function label(c: CanvasRenderingContext2D, text: string, lost: boolean): void {
  const style = getComputedStyle(document.documentElement);
  const colour = (token: string) => style.getPropertyValue(token).trim();
  c.font = `700 ${text.length > 2 ? 30 : 40}px ${getComputedStyle(document.body).fontFamily}`;
  const wide = Math.max(36, c.measureText(text).width + 14);
  c.fillStyle = colour(lost ? "--warning" : "--trouble");
  c.beginPath();
  c.roundRect(size - wide, size - 44, wide, 44, 12);
  c.fill();
  c.fillStyle = colour("--surface");
  c.textAlign = "center";
  c.textBaseline = "middle";
  c.fillText(text, size - wide / 2, size - 21);
}
