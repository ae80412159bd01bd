/* SPDX-License-Identifier: MIT */
/* Images beside ncurses. */
#include "screen_image.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NCURSES_WIDECHAR 1
#include <curses.h>
#undef columns
#undef lines

bool screen_cell_size(unsigned *ret_width, unsigned *ret_height)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col || !size.ws_row || size.ws_xpixel < size.ws_col || size.ws_ypixel < size.ws_row)
        return false;
    *ret_width = size.ws_xpixel / size.ws_col;
    *ret_height = size.ws_ypixel / size.ws_row;
    return true;
}

void screen_image_show(const struct area *area, enum image_protocol protocol, const struct text *image)
{
    printf("%s\0337\033[%d;%dH", terminal_image_removal(protocol), area->y + 1, area->x + 1);
    fwrite(image->data, 1, image->length, stdout);
    fputs("\0338", stdout); /* the cursor where ncurses believes it is */
    fflush(stdout);
}

void screen_image_remove(enum image_protocol protocol)
{
    fputs(terminal_image_removal(protocol), stdout);
    fflush(stdout);
    clearok(curscr, TRUE);
}
