//! Trade-off curves as a drawing.

use super::capacity::Table;
use plotters::prelude::*;

const SIZE: (u32, u32) = (720, 720);
const COLOURS: [RGBColor; 3] = [RGBColor(31, 119, 180), RGBColor(214, 39, 40), RGBColor(44, 160, 44)];

/// SVG text: false alarms along, misses up; who guesses blindly is on the diagonal.
pub(super) fn draw(table: &Table) -> Result<String, String> {
    let mut svg = String::new();
    drawn(&mut svg, table).map_err(|e| format!("the curve cannot be drawn: {e}"))?;
    Ok(svg)
}

fn drawn(svg: &mut String, table: &Table) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let font = ("sans-serif", 16);
    let mut chart = ChartBuilder::on(&area)
        .caption("How well the best test tells whether a unit is in the data", ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..1.0, 0.0..1.0)?;
    chart
        .configure_mesh()
        .x_desc("false alarms (absent unit called present)")
        .y_desc("misses (present unit called absent)")
        .label_style(font)
        .axis_desc_style(font)
        .draw()?;
    chart
        .draw_series(LineSeries::new([(0.0, 1.0), (1.0, 0.0)], BLACK.mix(0.3)))?
        .label("blind guessing")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 24, y)], BLACK.mix(0.3)));
    for ((name, curve), colour) in table.curves().into_iter().zip(COLOURS) {
        let points = (0..=400).map(|i| f64::from(i) / 400.0).map(|a| (a, curve.at(a).lo()));
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 24, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .border_style(BLACK.mix(0.2))
        .background_style(WHITE)
        .label_font(font)
        .draw()?;
    drop(chart);
    area.present()?;
    Ok(())
}
