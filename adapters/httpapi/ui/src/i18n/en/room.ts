export const room = {
  more: (n: number) => `${n} more ${n === 1 ? "incident" : "incidents"}`,
  controls: "This screen",
  screen: "Screen, to be read at 3 m",
  inches: (n: number) => `${n}″`,
  sound: "Sound",
  full: "Full screen",
  leave: "Leave",
  quietUntil: (time: string, least: string) => `quiet until ${time}: ${least ? `only ${least} and worse` : "nothing"} sounds`,
  mayGoDark: "This screen may go dark: browsers keep it on over https alone",
};
