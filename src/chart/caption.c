/* SPDX-License-Identifier: MIT */
/* Captions. */
#include "caption.h"

double draw_caption(struct drawing *drawing, const struct caption *caption, double width)
{
    double y = PICTURE_MARGIN + 12, room = width - 2 * PICTURE_MARGIN;
    drawing->title = caption->title;
    drawing_name(drawing, PICTURE_MARGIN, y, room, (struct lettering){.size = 15, .bold = true}, caption->title);
    if (*caption->remark) {
        y += 18;
        drawing_text(drawing, PICTURE_MARGIN, y, room, (struct lettering){.size = 11, .colour = COLOUR_DIM}, caption->remark);
    }
    return y + 16;
}
