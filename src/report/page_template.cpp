// SPDX-License-Identifier: Apache-2.0
//
// By the assembler: as an array of numbers the page would take the compiler longer than the rest of
// this folder.
#include "report/page_template.h"

asm(".pushsection .rodata\n"
    ".balign 8\n"
    "plumb_page_begin:\n"
    ".incbin \"" PLUMB_PAGE_TEMPLATE
    "\"\n"
    "plumb_page_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
extern const char plumb_page_begin[] __attribute__((visibility("hidden")));
extern const char plumb_page_end[] __attribute__((visibility("hidden")));
}

namespace plumb::report {

std::string_view page_template() {
  return {plumb_page_begin, static_cast<size_t>(plumb_page_end - plumb_page_begin)};
}

}  // namespace plumb::report
