// On a narrow screen a wide picture scrolls sideways, so that its letters can be read (site.css).
document.addEventListener("DOMContentLoaded", () => {
  for (const picture of document.querySelectorAll(".bd-article img:not(.sphx-glr-thumbcontainer img, .sd-card img)")) {
    const frame = document.createElement("div");
    frame.className = "wide-picture";
    frame.tabIndex = 0;
    picture.replaceWith(frame);
    frame.append(picture);
  }
});
