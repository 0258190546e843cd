export const views = {
  none: "This browser keeps no view yet.",
  name: "Keep this view as",
  remove: (name: string) => `Forget ${name}`,
  hint: "Filters, grouping and form are in the address of the page: it can be sent, and opened on another screen. This browser keeps it by name.",
};
