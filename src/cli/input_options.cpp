// SPDX-License-Identifier: Apache-2.0
#include "cli/input_options.h"

namespace plumb::cli {

void InputOptions::declare(Options& options) {
  options.group("input");
  options.texts("-i,--input", "[NAME=]FILE", inputs,
                "npy, npz, ONNX .pb, .bin of bare bytes, a picture,\n"
                "digits of MNIST (FILE#3); a directory or @list.txt\n"
                "for many samples; repeat it for several inputs");
  declare_feeding(options);
  declare_pictures(options);
}

void InputOptions::declare_feeding(Options& options) {
  options.texts("--shape", "SHAPE", shapes,
                "of an input with axes that the model leaves open (a\n"
                "batch is 1 without it): 1,3,224,224, NAME:1,3,224,224");
  options.text("--seed", "N", seed, "inputs without a file are random, always the same for N");
  options.flag("--cast", cast, "round values that the input's type cannot hold exactly");
}

void InputOptions::declare_pictures(Options& options) {
  options.group("pictures");
  options.text("--config", "FILE", config,
               "take what follows from a Pulsar config (prototxt, JSON)\n"
               "or our own form; options win over it");
  options.text("--input-color", "NAME", color,
               "colours the model takes: BGR, RGB, GRAY, NV12, NV21,\n"
               "BGR0, YUYV, UYVY (default: 3 channels BGR, 1 GRAY)");
  options.suggest([] {
    return std::vector<std::string>{"BGR", "RGB", "GRAY", "NV12", "NV21", "BGR0", "YUYV", "UYVY"};
  });
  options.text("--resize", "HOW", resize,
               "stretch (default), stretch:256x256, short:256+crop,\n"
               "letterbox:114 or none");
  options.suggest([] { return std::vector<std::string>{"stretch", "none"}; });
  options.text("--crop", "SIZE", crop, "from the middle (default: what the model takes)");
  options.text("--interpolation,--interp", "NAME", interpolation,
               "bilinear (default), nearest, area or cubic");
  options.suggest([] { return std::vector<std::string>{"bilinear", "nearest", "area", "cubic"}; });
  options.flag("--align-corners", align_corners, "corners stay corners when resizing");
  options.text("--scale", "N", scale, "times this, first: 1/255");
  options.text("--mean", "LIST", mean, "minus these, in the order of the model's colours");
  options.text("--std", "LIST", std, "divided by these");
  options.text("--layout", "NAME", layout, "NCHW or NHWC (default: told from the shape)");
  options.suggest([] { return std::vector<std::string>{"NCHW", "NHWC"}; });
  options.text("--source-color", "NAME", source_color, "of .bin files of bare pixels: NV12");
  options.text("--source-size", "SIZE", source_size, "of files of bare pixels: 640x480");
  options.text("--color-standard", "NAME", color_standard,
               "between YUV and RGB: BT.601 studio or full swing");
  options.suggest([] { return std::vector<std::string>{"studio", "full"}; });
  options.text("--dump-pre", "DIR", dump_directory, "write each stage of a picture as npy");
}

void print_warnings(const input::Samples& samples, const CommonOptions& common) {
  for (const std::string& warning : samples.warnings()) print_warning(warning);
  if (common.quiet) return;
  for (const std::string& note : samples.notes()) print_warning(note);
}

}  // namespace plumb::cli
