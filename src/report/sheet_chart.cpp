// SPDX-License-Identifier: Apache-2.0
#include "report/sheet_chart.h"

#include <fmt/format.h>

namespace plumb::report {
namespace {

constexpr std::string_view kChart = "http://schemas.openxmlformats.org/drawingml/2006/chart";
constexpr std::string_view kDrawing = "http://schemas.openxmlformats.org/drawingml/2006/main";
constexpr std::string_view kPlace =
    "http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing";

std::string series(size_t number, size_t x, size_t y, bool is_line, std::string_view sheet,
                   int64_t last) {
  const auto range = [&](size_t column) {
    return fmt::format("<c:numRef><c:f>'{0}'!${1}$2:${1}${2}</c:f></c:numRef>", sheet,
                       column_name(column), last);
  };
  const std::string_view look =
      is_line
          ? "<c:spPr><a:ln w=\"19050\"><a:solidFill><a:srgbClr val=\"B07A00\"/></a:solidFill>"
            "<a:prstDash val=\"dash\"/></a:ln></c:spPr><c:marker><c:symbol "
            "val=\"none\"/></c:marker>"
          : "<c:spPr><a:ln w=\"9525\"><a:solidFill><a:srgbClr val=\"B4BDC9\"/></a:solidFill></a:ln>"
            "</c:spPr><c:marker><c:symbol val=\"circle\"/><c:size val=\"5\"/><c:spPr><a:solidFill>"
            "<a:srgbClr val=\"1F57D2\"/></a:solidFill><a:ln><a:noFill/></a:ln></c:spPr></c:marker>";
  return fmt::format(
      "<c:ser><c:idx val=\"{0}\"/><c:order val=\"{0}\"/><c:tx><c:strRef><c:f>'{1}'!${2}$1</c:f>"
      "</c:strRef></c:tx>{3}<c:xVal>{4}</c:xVal><c:yVal>{5}</c:yVal><c:smooth val=\"0\"/></c:ser>",
      number, sheet, column_name(y), look, range(x), range(y));
}

std::string axis(int id, int other, std::string_view place, std::string_view scale,
                 std::string_view more) {
  return fmt::format(
      "<c:valAx><c:axId val=\"{}\"/><c:scaling>{}<c:orientation val=\"minMax\"/></c:scaling>"
      "<c:delete val=\"0\"/><c:axPos val=\"{}\"/>{}<c:numFmt formatCode=\"General\" "
      "sourceLinked=\"0\"/><c:majorTickMark val=\"out\"/><c:minorTickMark val=\"none\"/>"
      "<c:tickLblPos val=\"low\"/><c:crossAx val=\"{}\"/><c:crosses val=\"min\"/></c:valAx>",
      id, scale, place, more, other);
}

}  // namespace

std::string column_name(size_t column) {
  std::string name;
  for (++column; column > 0; column = (column - 1) / 26)
    name.insert(name.begin(), static_cast<char>('A' + (column - 1) % 26));
  return name;
}

std::string chart_xml(const SheetChart& chart, std::string_view sheet, int64_t last) {
  std::string all;
  size_t number = 0;
  for (const size_t column : chart.points)
    all += series(number++, chart.x, column, false, sheet, last);
  for (const size_t column : chart.lines)
    all += series(number++, chart.x, column, true, sheet, last);
  return fmt::format(
      "<c:chartSpace xmlns:c=\"{}\" xmlns:a=\"{}\"><c:chart><c:title><c:tx><c:rich><a:bodyPr/><a:p>"
      "<a:r><a:t>{}</a:t></a:r></a:p></c:rich></c:tx><c:overlay val=\"0\"/></c:title>"
      "<c:autoTitleDeleted val=\"0\"/><c:plotArea><c:layout/><c:scatterChart>"
      "<c:scatterStyle val=\"lineMarker\"/><c:varyColors val=\"0\"/>{}<c:axId val=\"1\"/>"
      "<c:axId val=\"2\"/></c:scatterChart>{}{}</c:plotArea><c:legend><c:legendPos val=\"b\"/>"
      "<c:overlay val=\"0\"/></c:legend><c:plotVisOnly val=\"1\"/></c:chart></c:chartSpace>",
      kChart, kDrawing, chart.title, all, axis(1, 2, "b", "", ""),
      axis(2, 1, "l", "<c:logBase val=\"10\"/>", "<c:majorGridlines/>"));
}

std::string chart_place_xml(size_t column) {
  return fmt::format(
      "<xdr:wsDr xmlns:xdr=\"{}\" xmlns:a=\"{}\"><xdr:twoCellAnchor><xdr:from><xdr:col>{}</xdr:col>"
      "<xdr:colOff>0</xdr:colOff><xdr:row>1</xdr:row><xdr:rowOff>0</xdr:rowOff></xdr:from><xdr:to>"
      "<xdr:col>{}</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>31</xdr:row><xdr:rowOff>0</"
      "xdr:rowOff>"
      "</xdr:to><xdr:graphicFrame macro=\"\"><xdr:nvGraphicFramePr><xdr:cNvPr id=\"2\" "
      "name=\"Chart "
      "1\"/><xdr:cNvGraphicFramePr/></xdr:nvGraphicFramePr><xdr:xfrm><a:off x=\"0\" y=\"0\"/>"
      "<a:ext cx=\"0\" cy=\"0\"/></xdr:xfrm><a:graphic><a:graphicData uri=\"{}\"><c:chart "
      "xmlns:c=\"{}\" xmlns:r=\"{}\" r:id=\"rId1\"/></a:graphicData></a:graphic></xdr:graphicFrame>"
      "<xdr:clientData/></xdr:twoCellAnchor></xdr:wsDr>",
      kPlace, kDrawing, column, column + 14, kChart, kChart, kOfficeRelations);
}

}  // namespace plumb::report
