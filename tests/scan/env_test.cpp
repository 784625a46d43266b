// SPDX-License-Identifier: Apache-2.0
#include "scan/env.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch.h"

namespace plumb::scan {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Trees as the installers leave them, in small.
struct Tree : Scratch {
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path() / name).parent_path());
    std::ofstream(path() / name) << text;
  }
  void driver(const std::string& list = "[V100R001C17],[V100R001C18],[V100R001C21]") const {
    write("driver/version.info",
          "Version=25.0.rc1.1\nInnerversion=V100R001C21SPC002B220\ncompatible_version=" + list +
              "\ncompatible_version_fw=[7.0.0,7.7.99]\npackage_version=25.0.rc1.1\n");
  }
  void firmware(const std::string& version = "7.7.0.1.231") const {
    write("firmware/version.info", "Version=" + version +
                                       "\nfirmware_version=1.0\npackage_version=25.0.rc1.1\n"
                                       "compatible_version_drv=[24.1,24.1.],[25.0,25.0.]\n");
  }
  void toolkit(const std::string& version, const std::string& inner) const {
    const std::string directory = "ascend-toolkit/" + version;
    write(directory + "/aarch64-linux/ascend_toolkit_install.info",
          "package_name=Ascend-cann-toolkit\nversion=" + version + "\ninnerversion=" + inner +
              "\ncompatible_version=[V100R001C15],[V100R001C18],[V100R001C21],[V100R001C23]\n"
              "arch=aarch64\nos=linux\npath=/usr/local/Ascend/" +
              directory + "/aarch64-linux\n");
    write(directory + "/compiler/version.info",
          "Version=7.7.T5.0.B028\nversion_dir=" + version +
              "\nrequired_package_opp_version=\">=7.6, <=8.2\"\n");
    write(directory + "/version.cfg",
          "# version: 1.0\ntoolkit_running_version=[7.7.0.1.231:" + version + "]\n");
  }
};

Environment look_at(const Tree& tree) {
  RunContext context;
  return look_around({tree.path()}, context);
}

TEST(Env, LinesAreKeysAndValues) {
  const auto values = read_env_lines(
      "# version: 1.0\r\nVersion=8.2.RC1\r\n\r\nrequired=\">=7.6, <=8.2\"\nMindIE-ATB Tag/Branch : "
      "master\n"
      "no separator\n=value\nlast=1");
  EXPECT_EQ(values.size(), 4);
  EXPECT_EQ(values.at("Version"), "8.2.RC1");
  EXPECT_EQ(values.at("required"), ">=7.6, <=8.2");
  EXPECT_EQ(values.at("MindIE-ATB Tag/Branch"), "master");
  EXPECT_EQ(values.at("last"), "1");
}

TEST(Env, ListsNameVersions) {
  struct Case {
    const char *list, *version;
    bool named;
  };
  const Case cases[] = {
      {"[V100R001C17],[V100R001C18]", "V100R001C18SPC001B233", true},
      {"[V100R001C17],[V100R001C18]", "V100R001C19", false},
      {"[V100R001C15,V100R001C18],[V100R001C30]", "V100R001C17SPC001B240", true},
      {"[V100R001C15,V100R001C18],[V100R001C30]", "V100R001C19B054", false},
      {"[V100R001C15]", "V100R001C1", false},
      {"[7.0.0,7.7.99]", "7.7.0.1.231", true},
      {"[7.0.0,7.7.99]", "7.8.0.1.231", false},
      {"[6.4.0,6.4.99],[7.0.0,7.7.99]", "6.4.12", true},
      {"[24.1,24.1.],[25.0,25.0.]", "25.0.rc1.1", true},
      {"[24.1,24.1.]", "24.1", true},
      {"[24.1,24.1.]", "24.10.rc1", false},
      {"", "24.1", false},
      {"[", "24.1", false},
      {"[]", "", false},
  };
  for (const Case& c : cases)
    EXPECT_EQ(names_version(c.list, c.version), c.named) << c.list << " " << c.version;
}

TEST(Env, TreesOfAnyLayoutAreRead) {
  Tree tree;
  tree.driver();
  tree.firmware();
  tree.toolkit("8.1.RC1", "V100R001C21SPC001B238");
  tree.toolkit("8.2.RC1", "V100R001C22SPC001B231");
  fs::create_directory(tree.path() / "ascend-toolkit/latest");
  for (const char* part : {"aarch64-linux", "compiler"})
    fs::create_directory_symlink(fs::path("../8.2.RC1") / part,
                                 tree.path() / "ascend-toolkit/latest" / part);
  tree.write("nnrt/8.0.0/x86_64-linux/ascend_nnrt_install.info",
             "package_name=Ascend-cann-nnrt\nversion=8.0.0\n");
  const Environment found = look_at(tree);
  ASSERT_NE(found.active("driver"), nullptr);
  EXPECT_EQ(found.active("driver")->version(), "25.0.rc1.1");
  EXPECT_EQ(found.active("firmware")->version(), "7.7.0.1.231");
  ASSERT_NE(found.active("toolkit"), nullptr);
  EXPECT_EQ(found.active("toolkit")->version(), "8.2.RC1");
  EXPECT_EQ(found.active("compiler")->value("version_dir"), "8.2.RC1");
  size_t toolkits = 0;
  for (const EnvPackage& package : found.packages) toolkits += package.role == "toolkit";
  EXPECT_EQ(toolkits, 2);

  Tree newer;  // since 8.5 a directory for each version, and a link
  newer.write("cann-8.5.0/aarch64-linux/ascend_toolkit_install.info",
              "package_name=Ascend-cann-toolkit\nversion=8.5.0\n");
  newer.write("cann-9.0.0/aarch64-linux/ascend_toolkit_install.info",
              "package_name=Ascend-cann-toolkit\nversion=9.0.0\n");
  newer.write("cann-9.0.0/aarch64-linux/ascend_ops_install.info",
              "package_name=Ascend-cann-910b-ops\nversion=9.0.0\n");
  fs::create_directory_symlink("cann-9.0.0", newer.path() / "cann");
  const Environment other = look_at(newer);
  EXPECT_EQ(other.active("toolkit")->version(), "9.0.0");
  EXPECT_EQ(other.active("ops")->version(), "9.0.0");
}

TEST(Env, PackagesThatDoNotNameEachOtherAreTold) {
  Tree tree;
  tree.driver("[V100R001C10]");
  tree.firmware("8.0.1");
  tree.toolkit("8.2.RC1", "V100R001C22SPC001B231");
  auto fits = fits_of(look_at(tree));
  ASSERT_EQ(fits.size(), 2);
  EXPECT_EQ(fits[0].verdict, EnvFit::Verdict::kFits);  // the toolkit names the driver
  EXPECT_EQ(fits[0].first_names_second, false);
  EXPECT_EQ(fits[0].second_names_first, true);
  EXPECT_EQ(fits[1].verdict, EnvFit::Verdict::kDoesNotFit);  // 8.0.1 is beyond the driver's list
  tree.write("ascend-toolkit/8.2.RC1/aarch64-linux/ascend_toolkit_install.info",
             "package_name=Ascend-cann-toolkit\nversion=9.0.0\ninnerversion="
             "V100R001C25\ncompatible_version=[V100R001C25]\n");
  fits = fits_of(look_at(tree));
  EXPECT_EQ(fits[0].verdict, EnvFit::Verdict::kDoesNotFit);
  EXPECT_THAT(fits[0].message, HasSubstr("do not belong together"));
  tree.write("driver/version.info", "Version=22.0\n");
  EXPECT_EQ(fits_of(look_at(tree))[0].verdict, EnvFit::Verdict::kUnknown);
}

TEST(Env, WrittenThenReadIsTheSame) {
  Tree tree;
  tree.driver();
  tree.firmware();
  Environment environment = look_at(tree);
  environment.engines = {{"onnxruntime", "ONNX Runtime 1.21.0"}, {"opencv", ""}};
  environment.variables = {{"OMP_NUM_THREADS", "4"}};
  environment.devices = {"0 910B4"};
  const std::string text = to_json(environment);
  const auto again = environment_from_json(text);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(to_json(*again), text);
  EXPECT_TRUE(compare_environments(environment, *again).is_same());
}

TEST(Env, ChangesAreToldTheDriverFirst) {
  Tree tree;
  tree.driver();
  tree.firmware();
  const Environment golden = look_at(tree);
  Environment target = golden;
  target.variables["OMP_NUM_THREADS"] = "1";
  for (EnvPackage& package : target.packages)
    if (package.role == "driver") package.values["Version"] = "25.2.0";
  const EnvDiff diff = compare_environments(target, golden);
  ASSERT_EQ(diff.changes.size(), 2);
  EXPECT_EQ(diff.changes[0].what, "driver.Version");
  EXPECT_EQ(diff.changes[0].target, "25.2.0");
  EXPECT_EQ(diff.changes[0].golden, "25.0.rc1.1");
  EXPECT_EQ(diff.changes[1].what, "variable.OMP_NUM_THREADS");
  EXPECT_EQ(diff.fits.size(), 1);
}

TEST(Env, OtherDocumentsAreRefused) {
  for (const char* text : {"", "{", "[]", "{\"schema\": \"plumb.result/1\"}", "\xff"})
    EXPECT_FALSE(environment_from_json(text).ok()) << text;
  EXPECT_TRUE(
      environment_from_json("{\"schema\": \"plumb.env/1\", \"packages\": [1, {\"role\": 2}]}")
          .ok());
}

TEST(Env, DevicesAreThoseOfNpuSmi) {
  Environment environment;
  add_devices(
      "+----+\n| npu-smi 25.0.rc1   Version: 25.0.rc1   |\n| NPU   Name  | Health |\n"
      "| 0     910B4               | OK            | 86.0 |\n| 0                         | "
      "0000:C1:00.0  | 0 |\n"
      "| 1     910B4               | OK            | 90.1 |\n",
      environment);
  EXPECT_EQ(environment.device_tool, "25.0.rc1");
  EXPECT_EQ(environment.devices, (std::vector<std::string>{"0 910B4", "1 910B4"}));
}

}  // namespace
}  // namespace plumb::scan
